/* SPDX-License-Identifier: BSD-2-Clause */
/* Stores the transfers that steps add. */
#include "analysis/call/transfer_script.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/call/place_cache.h"
#include "analysis/call/transfer_state.h"
#include "common/vector.h"

/* Limits: beyond a limit, all entries are forgotten. */
#define STATES_MAX (1u << 17)
#define SCRIPTS_MAX (1u << 18)
#define LIST_MAX (1u << 18)

#define STATE_WORDS (sizeof(struct analysis_script_state) / sizeof(uint64_t))

/* The sum of two such counts fits a transfer. */
#define INSTRUCTIONS_MAX (UINT32_MAX / 2)

_Static_assert(sizeof(struct analysis_script_state) == STATE_WORDS * sizeof(uint64_t), "all of a state is its key");

void analysis_scripts_free(struct analysis_scripts *scripts)
{
	free(scripts->states);
	free(scripts->scripts);
	free(scripts->list);
	common_number_table_free(&scripts->state_numbers);
	*scripts = (struct analysis_scripts){0};
}

static void forget_all(struct analysis_scripts *scripts)
{
	common_number_table_clear(&scripts->state_numbers);
	scripts->state_count = scripts->count = 1;
	scripts->list_count = 0;
	scripts->generation++;
}

void analysis_scripts_begin(struct analysis_scripts *scripts, uint32_t process)
{
	if (!scripts->count || scripts->process != process)
		forget_all(scripts);
	scripts->process = process;
}

/* ---- numbers ------------------------------------------------------------------------------------- */

/* Returns 0 without room. */
static uint32_t number_of_state(struct analysis_scripts *scripts, const struct analysis_script_state *like)
{
	struct common_numbered array = {.size = sizeof(*like), .words = STATE_WORDS};
	uint32_t number;

	if (scripts->state_count >= STATES_MAX)
		forget_all(scripts);
	if (!COMMON_VECTOR_GROW(scripts->states, scripts->state_capacity, scripts->state_count + 1))
		return 0;
	array.elements = scripts->states;
	number = common_number_of(&scripts->state_numbers, array, scripts->state_count, like);
	if (number == scripts->state_count)
		scripts->states[scripts->state_count++] = *like;
	return number;
}

/*
 * Makes a script from the transfers added since the last numbered state. Returns 0 without room, or if the transfers
 * cannot be added again.
 */
static uint32_t make_script(struct analysis_scripts *scripts, const struct analysis_transfers *transfers,
			    const struct analysis_tracker *tracker)
{
	const size_t count = transfers->count - transfers->fixed;
	const uint64_t before = transfers->noted_instructions;
	const uint64_t rest = tracker->instructions - (count ? 0 : before);

	if (scripts->count >= SCRIPTS_MAX || scripts->list_count + count > LIST_MAX) {
		forget_all(scripts);
		return 0;
	}
	if (before > INSTRUCTIONS_MAX || rest > INSTRUCTIONS_MAX ||
	    !COMMON_VECTOR_GROW(scripts->scripts, scripts->capacity, scripts->count + 1) ||
	    !COMMON_VECTOR_GROW(scripts->list, scripts->list_capacity, scripts->list_count + count + 1))
		return 0;
	if (count) {
		struct analysis_transfer *list = scripts->list + scripts->list_count;

		memcpy(list, transfers->list + transfers->fixed, count * sizeof(*list));
		if (list->instructions > INSTRUCTIONS_MAX)
			return 0;
		list->instructions -= (uint32_t)before;
	}
	scripts->scripts[scripts->count] = (struct analysis_script){scripts->list_count, (uint32_t)count,
								    (uint32_t)rest};
	scripts->list_count += (uint32_t)count;
	return scripts->count++;
}

/* ---- states -------------------------------------------------------------------------------------- */

uint32_t analysis_scripts_state(struct analysis_scripts *scripts, struct analysis_transfers *transfers,
				struct analysis_tracker *tracker, const struct flow_step *passed, uint32_t *effect)
{
	struct analysis_script_state like = {0};

	tracker->instructions += passed->instructions;
	analysis_tracker_leave_passed(tracker, passed);
	if (effect && transfers->noted)
		*effect = make_script(scripts, transfers, tracker);
	analysis_transfers_unfix(transfers);
	if (!tracker->home_number || !tracker->leaving.valid || !tracker->first.valid)
		return 0;
	like.behind = tracker->leaving.behind;
	like.home_number = tracker->home_number;
	like.branch = tracker->leaving.branch;
	return number_of_state(scripts, &like);
}

uint32_t analysis_scripts_go(struct analysis_scripts *scripts, struct analysis_transfers *transfers,
			     struct analysis_tracker *tracker, uint32_t state)
{
	const struct analysis_script_state *to = &scripts->states[state];

	tracker->home_number = to->home_number;
	tracker->leaving = (struct analysis_leaving){to->behind, (uint8_t)to->branch, true};
	/* A return belongs to the script, so it must not turn the call before into a leaf. */
	transfers->fixed = transfers->count;
	transfers->noted = true;
	transfers->noted_instructions = tracker->instructions;
	return to->branch < FLOW_BRANCH_CALL ? to->home_number : 0;
}

int analysis_scripts_again(const struct analysis_scripts *scripts, struct analysis_transfers *transfers,
			   struct analysis_tracker *tracker, uint32_t number, uint64_t time)
{
	const struct analysis_script *script = &scripts->scripts[number];
	int status = 0;

	if (tracker->instructions > INSTRUCTIONS_MAX)
		return 1;
	if (time)
		tracker->time = time;
	if (script->count)
		status = analysis_transfers_put_known(transfers, tracker, scripts->list + script->first, script->count);
	tracker->instructions += script->rest;
	return status;
}
