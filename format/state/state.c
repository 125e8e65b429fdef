/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes and threads as of now. The rules are those of docs/decoding.md, "Timeline". */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/guid.h"
#include "format/state/state_internal.h"
#include "common/vector.h"

/* ---- strings --------------------------------------------------------------------------------- */

static struct format_state_text *hold(struct format_state_text *text)
{
	text->holders++;
	return text;
}

struct format_state_text *format_state_text(struct ptl_state *state, const char *text)
{
	const size_t size = strlen(text) + 1;
	struct format_state_text **name = &state->names[common_hash_bytes(text, size) & (FORMAT_STATE_NAMES - 1)];
	struct format_state_text *made;

	if (*name && !strcmp((*name)->text, text))
		return hold(*name);
	made = malloc(sizeof(*made) + size);
	if (!made)
		return NULL;
	state->text_bytes += sizeof(*made) + size + 16;
	made->holders = 1;
	memcpy(made->text, text, size);
	format_state_text_drop(state, *name);
	*name = hold(made);
	return made;
}

void format_state_text_drop(struct ptl_state *state, struct format_state_text *text)
{
	if (!text || --text->holders)
		return;
	state->text_bytes -= sizeof(*text) + strlen(text->text) + 1 + 16;
	free(text);
}

/* Puts another text into *place. */
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

static struct common_rows member_rows(const struct ptl_state *state)
{
	return (struct common_rows){state->members, sizeof(*state->members), sizeof(state->members->pid)};
}

/* All that belongs to a process. */
static void clear_member(struct ptl_state *state, struct format_state_member *member)
{
	format_state_space_clear(state, &member->space);
	while (member->first_thread)
		format_state_thread_remove(state, member, member->first_thread);
	format_state_text_drop(state, member->program);
	format_state_text_drop(state, member->command_line);
	member->program = member->command_line = NULL;
}

int ptl_state_new(struct ptl_state **state)
{
	*state = calloc(1, sizeof(**state));
	if (!*state)
		return common_fail_memory("a state", sizeof(**state));
	(*state)->free_layer = FORMAT_STATE_NONE;
	return 0;
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
	free(state->undecided);
	format_pieces_free(&state->pieces);
	format_store_free(&state->store);
	common_row_index_free(&state->by_pid);
	common_row_index_free(&state->by_thread);
	common_hash_map_free(&state->ended);
	common_bytes_free(&state->told);
	common_bytes_free(&state->storage);
	free(state);
}

struct format_state_member *format_state_member(const struct ptl_state *state, uint32_t pid)
{
	const struct common_rows rows = member_rows(state);
	const uint32_t row = common_row_index_find(&state->by_pid, &rows, &pid);

	return row == COMMON_NO_ROW ? NULL : &state->members[row];
}

static int add_member(struct ptl_state *state, uint32_t pid, struct format_state_member **member)
{
	struct format_state_member made = {.pid = pid, .parent_id = PTL_NO_ID, .implied = true};
	struct common_rows rows;
	int status = 0;

	if (state->count >= COMMON_NO_ROW || !common_vector_room(&state->members, state->count, sizeof(made)))
		status = common_fail_memory("a process", sizeof(made));
	if (!status)
		status = set_text(state, &made.program, "");
	if (!status)
		status = set_text(state, &made.command_line, "");
	if (!status) {
		rows = member_rows(state);
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

int format_state_need(struct ptl_state *state, uint32_t pid, struct format_state_member **member)
{
	*member = format_state_member(state, pid);
	if (*member || common_hash_map_get(&state->ended, pid))
		return 0;
	return add_member(state, pid, member);
}

/* Closes the gaps that ended processes left. */
static int compact(struct ptl_state *state)
{
	const struct common_rows rows = member_rows(state);
	size_t kept = 0;
	int status = 0;

	common_row_index_free(&state->by_pid);
	for (size_t i = 0; i < state->count && !status; i++) {
		if (state->members[i].ended)
			continue;
		state->members[kept] = state->members[i];
		status = common_row_index_add(&state->by_pid, &rows, (uint32_t)kept++);
	}
	state->count = kept;
	state->ended_count = 0;
	return status;
}

/* The process is no more. */
static int remove_member(struct ptl_state *state, struct format_state_member *member)
{
	const uint32_t pid = member->pid;
	const uint64_t key = member->unique_key;
	const struct common_rows rows = member_rows(state);

	common_row_index_remove(&state->by_pid, &rows, &pid);
	clear_member(state, member);
	member->ended = true;
	state->ended_count++;
	state->walk_rank = state->walk_at = 0;
	if (state->ended_count > 64 && state->ended_count > state->count / 2) {
		int status = compact(state);

		if (status)
			return status;
	}
	return common_hash_map_put(&state->ended, pid, key);
}

/* ---- processes ------------------------------------------------------------------------------- */

/* A forked process runs its parent's program until it executes another. */
static int begin_program(struct ptl_state *state, struct format_state_member *member,
			 const struct format_state_member *parent, const struct ptl_process_event *data)
{
	const char *program = data->image_file_name, *command_line = data->command_line;
	int status;

	if (parent && !*program && !parent->implied) {
		program = parent->program->text;
		if (!*command_line)
			command_line = parent->command_line->text;
	}
	status = set_text(state, &member->program, program);
	return status ? status : set_text(state, &member->command_line, command_line);
}

/* Its address space is its parent's, until more is told of it at this same time. */
static int fork_space(struct ptl_state *state, struct format_state_member *member, struct format_state_member *parent)
{
	int status = format_state_decide(state, parent);

	if (status || !parent->space.touched || member->space.touched)
		return status;
	if (!common_vector_room(&state->undecided, state->undecided_count, sizeof(*state->undecided)))
		return common_fail_memory("processes", state->undecided_count * sizeof(*state->undecided));
	state->undecided[state->undecided_count++] = member->pid;
	state->undecided_time = member->start;
	member->space.inherited = true;
	member->space.touched = true;
	return format_state_space_copy(state, &parent->space, &member->space);
}

static int start_process(struct ptl_state *state, const struct ptl_event *event, const struct ptl_process_event *data,
			 struct format_state_member *member)
{
	const bool start = event->descriptor.opcode == PTL_OPCODE_START;
	struct format_state_member *parent = NULL;
	int status;

	if (start && !data->begins_empty && data->parent_id != data->process_id)
		parent = format_state_member(state, data->parent_id);
	member->implied = false;
	member->unique_key = data->unique_key;
	member->parent_id = data->parent_id;
	member->start = start ? event->time : 0;
	status = begin_program(state, member, parent, data);
	return status || !parent ? status : fork_space(state, member, parent);
}

/* Whether the event tells again of a process that lives. */
static bool is_known(const struct format_state_member *member, const struct ptl_process_event *data, uint8_t opcode)
{
	if (data->unique_key && member->unique_key)
		return data->unique_key == member->unique_key;
	return opcode != PTL_OPCODE_START;
}

static int process_begins(struct ptl_state *state, const struct ptl_event *event, const struct ptl_process_event *data)
{
	struct format_state_member *member = format_state_member(state, data->process_id);
	const uint64_t *ended = common_hash_map_get(&state->ended, data->process_id);
	int status;

	if (member && member->implied)
		return start_process(state, event, data, member);
	if (member && is_known(member, data, event->descriptor.opcode))
		return 0;
	/* Rundown may tell of one whose end has come already. */
	if (!member && ended && *ended && *ended == data->unique_key)
		return 0;
	status = member ? remove_member(state, member) : 0;
	if (!status)
		status = add_member(state, data->process_id, &member);
	return status ? status : start_process(state, event, data, member);
}

static int process_ends(struct ptl_state *state, const struct ptl_process_event *data)
{
	struct format_state_member *member = format_state_member(state, data->process_id);

	if (member)
		return remove_member(state, member);
	if (common_hash_map_get(&state->ended, data->process_id))
		return 0;
	return common_hash_map_put(&state->ended, data->process_id, data->unique_key);
}

static int process_executes(struct ptl_state *state, const struct ptl_event *event,
			    const struct ptl_process_event *data)
{
	struct format_state_member *member;
	int status = format_state_need(state, data->process_id, &member);

	if (status || !member)
		return status;
	status = format_state_space_exec(state, member, event->time);
	if (!status)
		status = set_text(state, &member->program, data->image_file_name);
	if (!status)
		status = set_text(state, &member->command_line, data->command_line);
	member->implied = false;
	return status;
}

static int take_process(struct ptl_state *state, const struct ptl_event *event)
{
	struct ptl_process_event data;
	int status = ptl_process_decode(event, &state->storage, &data);

	if (status)
		return status;
	switch (event->descriptor.opcode) {
	case PTL_OPCODE_START:
	case PTL_OPCODE_START_RUNDOWN:
	case PTL_OPCODE_END_RUNDOWN:
		return process_begins(state, event, &data);
	case PTL_OPCODE_END:
		return process_ends(state, &data);
	case PTL_OPCODE_EXEC:
		return process_executes(state, event, &data);
	default:
		return common_fail(PTL_UNSUPPORTED, "process event with opcode %u", event->descriptor.opcode);
	}
}

/* ---- events ---------------------------------------------------------------------------------- */

static int take_image(struct ptl_state *state, const struct ptl_event *event)
{
	struct ptl_image_event data;
	int status = ptl_image_decode(event, &state->storage, &data);

	return status ? status : format_state_image(state, event, &data);
}

static int take_code(struct ptl_state *state, const struct ptl_event *event)
{
	struct ptl_code_event data;
	int status = ptl_code_decode(event, &data);

	return status ? status : format_state_code(state, event, &data);
}

static const struct {
	const struct ptl_guid *provider;
	int (*take)(struct ptl_state *state, const struct ptl_event *event);
} classes[] = {
	{&PTL_PROVIDER_PROCESS, take_process},
	{&PTL_PROVIDER_THREAD, format_state_thread},
	{&PTL_PROVIDER_IMAGE, take_image},
	{&PTL_PROVIDER_CODE, take_code},
};

int ptl_state_event(struct ptl_state *state, const struct ptl_event *event)
{
	int status = format_state_settle(state, event->time);

	if (status)
		return status;
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		if (!common_guid_equal(classes[i].provider, &event->descriptor.provider))
			continue;
		state->storage.size = 0;
		status = classes[i].take(state, event);
		break;
	}
	if (state->pieces.failed)
		return common_fail_memory("address spaces", 0);
	if (!status)
		status = format_state_sweep(state);
	if (!status)
		status = format_state_budget(state);
	/* What cannot be understood costs itself alone. */
	if (status == PTL_NOT_OURS)
		return 0;
	if (status == PTL_UNSUPPORTED || status == PTL_CORRUPT || status == PTL_TRUNCATED) {
		state->skipped++;
		return 0;
	}
	return status;
}

uint64_t ptl_state_skipped(const struct ptl_state *state)
{
	return state->skipped;
}

void ptl_state_on_inherit(struct ptl_state *state,
			  int (*inherit)(void *context, struct ptl_state *state, uint32_t pid, uint64_t start),
			  void *context)
{
	state->inherit = inherit;
	state->inherit_context = context;
}

/* ---- questions ------------------------------------------------------------------------------- */

static void describe(const struct format_state_member *member, struct ptl_state_process *process)
{
	*process = (struct ptl_state_process){
		.pid = member->pid,
		.parent_id = member->parent_id,
		.unique_key = member->unique_key,
		.start = member->start,
		.implied = member->implied,
		.program = member->program->text,
		.command_line = member->command_line->text,
	};
}

bool ptl_state_find_process(const struct ptl_state *state, uint32_t pid, struct ptl_state_process *process)
{
	const struct format_state_member *member = format_state_member(state, pid);

	if (member)
		describe(member, process);
	return member != NULL;
}

bool ptl_state_process_at(struct ptl_state *state, size_t i, struct ptl_state_process *process)
{
	/* Most often the next one is asked for. */
	if (i < state->walk_rank)
		state->walk_rank = state->walk_at = 0;
	for (size_t k = state->walk_at; k < state->count; k++) {
		if (state->members[k].ended)
			continue;
		if (state->walk_rank < i) {
			state->walk_rank++;
			continue;
		}
		state->walk_at = k;
		describe(&state->members[k], process);
		return true;
	}
	state->walk_rank = state->walk_at = 0;
	return false;
}
