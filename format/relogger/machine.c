/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Machines of the inputs: numbers the machines, aligns their clocks, and keeps ids of processes, threads and CPUs apart
 * (docs/format.md 13).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "format/reader/parts.h"
#include "format/relogger/relogger_internal.h"
#include "common/vector.h"

/* --- identity of machines ------------------------------------------------------------------------------ */

static bool has_clock(const struct ptl_machine *machine)
{
	return machine->clock != PTL_CLOCK_VIRTUAL && machine->clock != PTL_CLOCK_NONE;
}

/* Returns the wall time at which the clock showed 0. */
static int64_t wall_zero(const struct ptl_machine *machine)
{
	return (int64_t)((uint64_t)machine->wall_start - machine->start_time);
}

/* Clears the members that differ between parts of one trace. */
static void forget_part(struct ptl_machine *machine)
{
	machine->start_time = machine->end_time = 0;
	machine->wall_start = 0;
	machine->index = 0;
	machine->redacted = false;
	machine->hostname[0] = '\0';
}

/*
 * Whether both records come from parts or copies of one trace, which have exactly the same relation of clock and wall
 * time.
 */
static bool is_same_record(const struct ptl_machine *a, const struct ptl_machine *b)
{
	struct ptl_machine x = *a, y = *b;

	if (!a->wall_start || wall_zero(a) != wall_zero(b))
		return false;
	forget_part(&x);
	forget_part(&y);
	return memcmp(&x, &y, sizeof(x)) == 0;
}

/* Whether process ids have the same meaning. In doubt, machines are kept apart. */
static bool is_same_machine(const struct ptl_machine *a, const struct ptl_machine *b)
{
	if (a->boot_id[0] && b->boot_id[0])
		return strcmp(a->boot_id, b->boot_id) == 0 && a->pid_namespace == b->pid_namespace;
	return is_same_record(a, b);
}

/* Whether times have the same meaning. */
static bool is_same_clock(const struct ptl_machine *a, const struct ptl_machine *b)
{
	if (is_same_record(a, b))
		return true;
	return has_clock(a) && a->clock == b->clock && a->boot_id[0] && strcmp(a->boot_id, b->boot_id) == 0;
}

/* --- clocks ------------------------------------------------------------------------------------------- */

/*
 * Returns the uncertainty of a clock's relation to wall time. A clock that counts instructions relates to wall time
 * only at its start.
 */
static uint64_t own_uncertainty(const struct ptl_machine *machine)
{
	const uint64_t length = machine->end_time > machine->start_time ? machine->end_time - machine->start_time : 0;

	return machine->wall_uncertainty + (has_clock(machine) ? 0 : length);
}

bool format_relogger_shares_clock(const struct ptl_relogger_input *input)
{
	return input->number == 0 ||
	       is_same_clock(ptl_trace_machine(input->relogger->inputs[0]->trace), ptl_trace_machine(input->trace));
}

void format_relogger_relate(struct ptl_relogger_input *input, const struct format_clock_relation *relation)
{
	input->relation = *relation;
}

void format_relogger_name_machine(struct ptl_relogger_input *input, const char *name)
{
	input->machine_name = name;
}

/* Aligns the clock by wall time. *known: both wall times are known. */
static void align_by_wall(const struct ptl_relogger *relogger, struct ptl_relogger_input *input, bool *known)
{
	const struct ptl_machine *first = ptl_trace_machine(relogger->inputs[0]->trace);
	const struct ptl_machine *own = ptl_trace_machine(input->trace);

	*known = first->wall_start && own->wall_start;
	input->time_shift = *known ? (int64_t)((uint64_t)wall_zero(own) - (uint64_t)wall_zero(first)) : 0;
	input->uncertainty = *known ? own_uncertainty(first) + own_uncertainty(own) : UINT64_MAX;
}

static int align_by_hand(struct ptl_relogger *relogger, struct ptl_relogger_input *input)
{
	const struct format_clock_relation *relation = &input->relation;
	bool known;

	if (format_relogger_shares_clock(input))
		return common_fail(PTL_MISUSE, "%s: its clock is that of %s, and cannot be related by hand",
				   input->name, relogger->inputs[0]->name);
	align_by_wall(relogger, input, &known);
	if (!relation->relative)
		input->time_shift = 0;
	if (__builtin_add_overflow(input->time_shift, relation->shift, &input->time_shift))
		return common_fail(PTL_MISUSE, "%s: the offset of its clock is too large", input->name);
	input->uncertainty = relation->uncertainty;
	format_relogger_warn(relogger, "%s: its clock is related to that of %s by hand: %+.9f s", input->name,
			     relogger->inputs[0]->name, (double)input->time_shift / 1e9);
	return 0;
}

static int align(struct ptl_relogger *relogger, struct ptl_relogger_input *input)
{
	const struct ptl_machine *first = ptl_trace_machine(relogger->inputs[0]->trace);
	const struct ptl_machine *own = ptl_trace_machine(input->trace);
	bool known;

	if (input->relation.given)
		return align_by_hand(relogger, input);
	if (format_relogger_shares_clock(input))
		return 0;
	align_by_wall(relogger, input, &known);
	if (known)
		format_relogger_warn(relogger,
				     "%s: its clock is aligned with that of %s by wall time: %+.9f s, uncertain by "
				     "%.9f s%s",
				     input->name, relogger->inputs[0]->name, (double)input->time_shift / 1e9,
				     (double)input->uncertainty / 1e9,
				     has_clock(first) && has_clock(own) ? "" : " (a clock counts instructions)");
	else
		format_relogger_warn(relogger,
				     "%s: nothing shows how its clock relates to that of %s: its times are kept",
				     input->name, relogger->inputs[0]->name);
	return 0;
}

/* Returns the earliest time in an input. */
static int64_t earliest(const struct ptl_relogger_input *input)
{
	const struct ptl_trace *trace = input->trace;
	uint64_t time = ptl_trace_machine(trace)->start_time ? ptl_trace_machine(trace)->start_time : UINT64_MAX;

	for (size_t i = 0; i < ptl_stream_count(trace); i++)
		if (ptl_stream_at(trace, i)->last_time && ptl_stream_at(trace, i)->first_time < time)
			time = ptl_stream_at(trace, i)->first_time;
	return time > INT64_MAX ? INT64_MAX : (int64_t)time;
}

/* Shifts the times of all inputs, also the first input's, if a time would fall below 0. */
static void keep_positive(struct ptl_relogger *relogger)
{
	int64_t lowest = 0;

	for (size_t i = 0; i < relogger->input_count; i++) {
		const struct ptl_relogger_input *input = relogger->inputs[i];
		const int64_t first = earliest(input);

		if (input->time_shift < 0 && first < INT64_MAX && first + input->time_shift - 1 < lowest)
			lowest = first + input->time_shift - 1;
	}
	for (size_t i = 0; lowest && i < relogger->input_count; i++)
		relogger->inputs[i]->time_shift -= lowest;
}

/* --- numbering ---------------------------------------------------------------------------------------- */

/* Extends a machine that several inputs share to the range from the first start to the last end. */
static void extend(struct ptl_machine *machine, struct ptl_machine part, bool *extended)
{
	if (part.end_time > machine->end_time) {
		machine->end_time = part.end_time;
		*extended = true;
	}
	if (part.start_time < machine->start_time) {
		machine->wall_start -= (int64_t)(machine->start_time - part.start_time);
		machine->start_time = part.start_time;
		*extended = true;
	}
}

static int find_machine(struct ptl_relogger *relogger, const struct ptl_machine *machine, uint16_t *index)
{
	size_t i = 0;

	while (i < relogger->machine_count && !is_same_machine(&relogger->machines[i], machine))
		i++;
	*index = (uint16_t)i;
	if (i < relogger->machine_count)
		return 0;
	if (i > PTL_MACHINE_MAX)
		return common_fail(PTL_MISUSE, "traces of more than %u machines", PTL_MACHINE_MAX + 1);
	if (!common_vector_room(&relogger->machines, i, sizeof(*relogger->machines)))
		return common_fail_memory("machines", i * sizeof(*machine));
	relogger->machines[relogger->machine_count++] = *machine;
	return 0;
}

/* Adapts a machine record to the output's clock and index. */
static void take_machine(const struct ptl_relogger_input *input, uint16_t index, struct ptl_machine *machine)
{
	machine->index = index;
	if (machine->start_time)
		machine->start_time += (uint64_t)input->time_shift;
	if (machine->end_time)
		machine->end_time += (uint64_t)input->time_shift;
	if (machine->tsc_multiplier)
		machine->tsc_zero += (uint64_t)input->time_shift;
	machine->time_shift += input->time_shift;
	if (machine->shift_uncertainty > UINT64_MAX - input->uncertainty)
		machine->shift_uncertainty = UINT64_MAX;
	else
		machine->shift_uncertainty += input->uncertainty;
}

/* Returns how many recordings a trace was made from: the number of history steps without inputs. */
static size_t recordings_of(const struct ptl_trace *trace)
{
	size_t recordings = 0, read = 0;

	for (size_t i = 0; i < ptl_provenance_count(trace); i++) {
		const size_t inputs = ptl_provenance_at(trace, i)->inputs;

		recordings += inputs == 0;
		read += inputs;
	}
	recordings = recordings ? recordings : read;
	return recordings ? recordings : 1;
}

/*
 * Numbers the recording of an input. Process keys of different recordings could collide and get different prefixes;
 * parts of one recording share their keys.
 */
static void find_recording(struct ptl_relogger *relogger, struct ptl_relogger_input *input)
{
	size_t i = 0;

	while (i < input->number &&
	       !is_same_record(ptl_trace_machine(relogger->inputs[i]->trace), ptl_trace_machine(input->trace)))
		i++;
	input->recording = i < input->number ? relogger->inputs[i]->recording : relogger->recordings;
	if (i == input->number)
		relogger->recordings += recordings_of(input->trace);
}

static int number_input(struct ptl_relogger *relogger, struct ptl_relogger_input *input)
{
	const size_t count = ptl_machine_count(input->trace);
	int status = 0;

	input->machines = calloc(count, sizeof(*input->machines));
	if (!input->machines)
		return common_fail_memory("machines", count * sizeof(*input->machines));
	input->machine_count = count;
	for (size_t i = 0; !status && i < count; i++) {
		const struct ptl_machine *machine = ptl_machine_at(input->trace, i);
		const size_t before = relogger->machine_count;
		struct ptl_machine changed;

		if (!machine)
			continue;
		status = find_machine(relogger, machine, &input->machines[i]);
		if (status)
			break;
		changed = *machine;
		take_machine(input, input->machines[i], &changed);
		if (relogger->machine_count > before)
			relogger->machines[before] = changed;
		else
			extend(&relogger->machines[input->machines[i]], changed, &relogger->own_machines);
		input->renumbered |= input->machines[i] != i;
	}
	input->machine = input->machines[0];
	if (!status && input->machine_name) {
		struct ptl_machine *named = &relogger->machines[input->machine];

		snprintf(named->hostname, sizeof(named->hostname), "%s", input->machine_name);
		relogger->own_machines = true;
	}
	find_recording(relogger, input);
	input->changed = input->renumbered || input->recording > 0;
	return status;
}

int format_relogger_find_machines(struct ptl_relogger *relogger)
{
	int status = 0;

	for (size_t i = 0; !status && i < relogger->input_count; i++)
		status = align(relogger, relogger->inputs[i]);
	keep_positive(relogger);
	for (size_t i = 0; !status && i < relogger->input_count; i++)
		status = number_input(relogger, relogger->inputs[i]);
	relogger->own_machines |= relogger->machine_count > 1 || relogger->inputs[0]->time_shift;
	return status;
}

/* --- ids ---------------------------------------------------------------------------------------------- */

int ptl_relogger_map_id(const struct ptl_relogger_input *input, uint32_t *id)
{
	const uint32_t machine = input->machine_count > 1 ? *id / PTL_MACHINE_IDS : 0;
	const uint32_t own = input->machine_count > 1 ? *id % PTL_MACHINE_IDS : *id;

	if (!input->renumbered || *id == PTL_NO_ID || machine >= input->machine_count)
		return 0;
	if (own >= PTL_MACHINE_IDS)
		return common_fail(PTL_UNSUPPORTED,
				   "%s: the id %" PRIu32 " is too large to be kept apart from other machines'",
				   input->name, *id);
	*id = input->machines[machine] * PTL_MACHINE_IDS + own;
	return 0;
}
