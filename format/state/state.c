/* SPDX-License-Identifier: BSD-2-Clause */
/* Current processes, from the changes reported by the fold. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "format/state/state_internal.h"
#include "common/vector.h"

/* Replaces the text in *place. */
static int set_text(struct ptl_state *state, struct format_state_text **place, const char *text)
{
	struct format_state_text *made = format_state_text(state, text);

	if (!made)
		return common_fail_memory("a name", strlen(text));
	format_state_text_drop(state, *place);
	*place = made;
	return 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Frees everything that belongs to a process. */
static void clear_member(struct ptl_state *state, struct format_state_member *member)
{
	format_fold_unmap(&state->fold, &member->fold, 0, UINT64_MAX);
	while (member->first_thread)
		format_state_thread_remove(state, member, member->first_thread);
	format_state_text_drop(state, member->program);
	format_state_text_drop(state, member->command_line);
	member->program = member->command_line = NULL;
}

static void free_texts(struct ptl_state *state)
{
	for (size_t i = 0; i < state->count; i++) {
		format_state_text_drop(state, state->members[i].program);
		format_state_text_drop(state, state->members[i].command_line);
	}
	for (size_t i = 0; i < state->thread_count; i++)
		format_state_text_drop(state, state->threads[i].name);
	for (size_t i = 0; i < FORMAT_STATE_NAMES; i++)
		format_state_text_drop(state, state->names[i]);
}

void ptl_state_free(struct ptl_state *state)
{
	if (!state)
		return;
	free_texts(state);
	for (size_t i = 0; i < FORMAT_STATE_SHOWN; i++) {
		if (state->shown[i])
			common_bytes_free(&state->shown[i]->bytes);
		free(state->shown[i]);
	}
	common_memory_budget_close(&state->memory_budget);
	free(state->members);
	free(state->threads);
	free(state->layers);
	format_fold_free(&state->fold);
	format_store_free(&state->store);
	common_row_index_free(&state->by_pid);
	common_row_index_free(&state->by_thread);
	common_hash_map_free(&state->ended);
	common_bytes_free(&state->reported);
	common_bytes_free(&state->returned_image_bytes);
	free(state);
}

static int add_member(struct ptl_state *state, uint32_t pid, struct format_state_member **member)
{
	struct format_state_member made = {.fold = {.pid = pid, .implied = true}, .parent_id = PTL_NO_ID};
	struct common_rows rows;
	int status = 0;

	if (state->count >= COMMON_NO_ROW || !common_vector_room(&state->members, state->count, sizeof(made)))
		status = common_fail_memory("a process", sizeof(made));
	if (!status)
		status = set_text(state, &made.program, "");
	if (!status)
		status = set_text(state, &made.command_line, "");
	if (!status) {
		rows = format_state_member_rows(state);
		state->members[state->count] = made;
		status = common_row_index_add(&state->by_pid, &rows, (uint32_t)state->count);
	}
	if (status) {
		clear_member(state, &made);
		return status;
	}
	common_hash_map_remove(&state->ended, pid);
	*member = &state->members[state->count++];
	return 0;
}

/* Closes the gaps left by ended processes. */
static int compact(struct ptl_state *state)
{
	const struct common_rows rows = format_state_member_rows(state);
	size_t kept = 0;
	int status = 0;

	common_row_index_free(&state->by_pid);
	for (size_t i = 0; i < state->count && !status; i++) {
		if (state->members[i].fold.ended)
			continue;
		state->members[kept] = state->members[i];
		status = common_row_index_add(&state->by_pid, &rows, (uint32_t)kept++);
	}
	state->count = kept;
	state->ended_count = 0;
	return status;
}

/* Removes an ended process. */
static int remove_member(struct ptl_state *state, struct format_state_member *member)
{
	const uint32_t pid = member->fold.pid;
	const uint64_t key = member->fold.unique_key;
	const struct common_rows rows = format_state_member_rows(state);

	common_row_index_remove(&state->by_pid, &rows, &pid);
	clear_member(state, member);
	member->fold.ended = true;
	state->ended_count++;
	state->walk_rank = state->walk_at = 0;
	if (state->ended_count > 64 && state->ended_count > state->count / 2) {
		int status = compact(state);

		if (status)
			return status;
	}
	return common_hash_map_put(&state->ended, pid, key);
}

/* ---- changes --------------------------------------------------------------------------------- */

/* The fold's process is the first member of struct format_state_member. */
static struct format_state_member *member_of(struct format_fold_process *process)
{
	return (struct format_state_member *)process;
}

static struct format_fold_process *fold_find_process(void *context, uint32_t pid)
{
	struct ptl_state *state = context;
	struct format_state_member *member = format_state_member(state, pid);
	const uint64_t *key = member ? NULL : common_hash_map_get(&state->ended, pid);

	if (!key)
		return member ? &member->fold : NULL;
	state->past = (struct format_fold_process){.pid = pid, .unique_key = *key, .ended = true};
	return &state->past;
}

static int fold_add_process(void *context, uint32_t pid, struct format_fold_process **process)
{
	struct format_state_member *member;
	const int status = add_member(context, pid, &member);

	*process = status ? NULL : &member->fold;
	return status;
}

static bool fold_program(void *context, const struct format_fold_process *process, const char **path,
			 const char **command_line)
{
	const struct format_state_member *member = (const struct format_state_member *)process;

	(void)context;
	*path = member->program->text;
	*command_line = member->command_line->text;
	return !process->implied;
}

static int set_program(struct ptl_state *state, struct format_state_member *member,
		       const struct ptl_process_event *data)
{
	const int status = set_text(state, &member->program, data->image_file_name);

	return status ? status : set_text(state, &member->command_line, data->command_line);
}

static int process_begins(void *context, struct format_fold_process *process, const struct format_fold_process *parent,
			  const struct ptl_process_event *data)
{
	(void)parent;
	member_of(process)->parent_id = data->parent_id;
	return set_program(context, member_of(process), data);
}

static int process_ends(void *context, struct format_fold_process *process, uint64_t time,
			const struct ptl_process_event *data)
{
	(void)time;
	(void)data;
	return remove_member(context, member_of(process));
}

static int executes(void *context, struct format_fold_process *process, uint64_t time,
		    const struct ptl_process_event *data)
{
	(void)time;
	return set_program(context, member_of(process), data);
}

static const struct format_fold_processes processes = {
	.find = fold_find_process,
	.add = fold_add_process,
	.program = fold_program,
	.begins = process_begins,
	.ends = process_ends,
	.executes = executes,
};

static const struct format_fold_listener listener = {
	.forgets_ended = true,
	.processes = &processes,
	.threads = &format_state_threads,
	.spaces = &format_state_spaces,
};

int ptl_state_new(struct ptl_state **state)
{
	*state = calloc(1, sizeof(**state));
	if (!*state)
		return common_fail_memory("a state", sizeof(**state));
	(*state)->free_layer = FORMAT_STATE_NONE;
	(*state)->fold.listener = &listener;
	(*state)->fold.context = *state;
	return 0;
}

int ptl_state_event(struct ptl_state *state, const struct ptl_event *event)
{
	int status = format_fold_event(&state->fold, event);

	if (!status)
		status = format_state_sweep(state);
	return status ? status : format_state_budget(state);
}

uint64_t ptl_state_skipped(const struct ptl_state *state)
{
	return state->fold.skipped;
}

void ptl_state_on_inherit(struct ptl_state *state,
			  int (*inherit)(void *context, struct ptl_state *state, uint32_t pid, uint64_t start),
			  void *context)
{
	state->inherit = inherit;
	state->inherit_context = context;
}

/* ---- queries --------------------------------------------------------------------------------- */

static void describe_process(const struct format_state_member *member, struct ptl_state_process *process)
{
	*process = (struct ptl_state_process){
		.pid = member->fold.pid,
		.parent_id = member->parent_id,
		.unique_key = member->fold.unique_key,
		.start = member->fold.start,
		.implied = member->fold.implied,
		.program = member->program->text,
		.command_line = member->command_line->text,
	};
}

bool ptl_state_find_process(const struct ptl_state *state, uint32_t pid, struct ptl_state_process *process)
{
	const struct format_state_member *member = format_state_member(state, pid);

	if (member)
		describe_process(member, process);
	return member != NULL;
}

bool ptl_state_process_at(struct ptl_state *state, size_t i, struct ptl_state_process *process)
{
	/* Callers usually ask for the next process. */
	if (i < state->walk_rank)
		state->walk_rank = state->walk_at = 0;
	for (size_t k = state->walk_at; k < state->count; k++) {
		if (state->members[k].fold.ended)
			continue;
		if (state->walk_rank < i) {
			state->walk_rank++;
			continue;
		}
		state->walk_at = k;
		describe_process(&state->members[k], process);
		return true;
	}
	state->walk_rank = state->walk_at = 0;
	return false;
}
