/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes and threads as of now. The rules are those of docs/decoding.md, "Timeline". */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/guid.h"
#include "format/state_internal.h"
#include "format/vector.h"

/* ---- strings --------------------------------------------------------------------------------- */

struct ptl_state_text *ptl_state_text_new(const char *text)
{
	const size_t size = strlen(text) + 1;
	struct ptl_state_text *made = malloc(sizeof(*made) + size);

	if (made) {
		made->holders = 1;
		memcpy(made->text, text, size);
	}
	return made;
}

struct ptl_state_text *ptl_state_text_hold(struct ptl_state_text *text)
{
	text->holders++;
	return text;
}

void ptl_state_text_drop(struct ptl_state_text *text)
{
	if (text && !--text->holders)
		free(text);
}

/* Puts another text into *place. */
static int set_text(struct ptl_state_text **place, const char *text)
{
	struct ptl_state_text *made = ptl_state_text_new(text);

	if (!made)
		return ptl_fail_memory("a name", strlen(text));
	ptl_state_text_drop(*place);
	*place = made;
	return 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void free_member(struct ptl_state *state, struct ptl_state_member *member)
{
	if (!member)
		return;
	ptl_state_space_clear(state, &member->space);
	for (size_t i = 0; i < member->thread_count; i++)
		ptl_state_text_drop(member->threads[i].name);
	free(member->threads);
	ptl_state_text_drop(member->program);
	ptl_state_text_drop(member->command_line);
	free(member);
}

int ptl_state_new(struct ptl_state **state)
{
	*state = calloc(1, sizeof(**state));
	if (!*state)
		return ptl_fail_memory("a state", sizeof(**state));
	(*state)->free_layer = PTL_STATE_NONE;
	return 0;
}

void ptl_state_free(struct ptl_state *state)
{
	if (!state)
		return;
	for (size_t i = 0; i < state->count; i++)
		free_member(state, state->members[i]);
	free(state->members);
	free(state->layers);
	free(state->undecided);
	ptl_pieces_free(&state->pieces);
	ptl_hash_map_free(&state->by_pid);
	ptl_hash_map_free(&state->ended);
	ptl_bytes_free(&state->storage);
	free(state);
}

struct ptl_state_member *ptl_state_member(const struct ptl_state *state, uint32_t pid)
{
	const uint64_t *index = ptl_hash_map_get(&state->by_pid, pid);

	return index ? state->members[*index] : NULL;
}

static int add_member(struct ptl_state *state, uint32_t pid, struct ptl_state_member **member)
{
	struct ptl_state_member *made = calloc(1, sizeof(*made));
	int status = 0;

	if (!made || !ptl_vector_room(&state->members, state->count, sizeof(made)))
		status = ptl_fail_memory("a process", sizeof(*made));
	if (!status)
		status = set_text(&made->program, "");
	if (!status)
		status = set_text(&made->command_line, "");
	if (!status)
		status = ptl_hash_map_put(&state->by_pid, pid, state->count);
	if (status) {
		free_member(state, made);
		return status;
	}
	made->data = (struct ptl_state_process){
		.pid = pid, .parent_id = PTL_NO_ID, .implied = true};
	ptl_hash_map_remove(&state->ended, pid);
	state->members[state->count++] = made;
	*member = made;
	return 0;
}

int ptl_state_need(struct ptl_state *state, uint32_t pid, struct ptl_state_member **member)
{
	*member = ptl_state_member(state, pid);
	if (*member || ptl_hash_map_get(&state->ended, pid))
		return 0;
	return add_member(state, pid, member);
}

/* Closes the gaps that ended processes left. What is told of an index is the map's alone. */
static int compact(struct ptl_state *state)
{
	size_t kept = 0;
	int status = 0;

	for (size_t i = 0; i < state->count && !status; i++) {
		struct ptl_state_member *member = state->members[i];

		if (!member)
			continue;
		state->members[i] = NULL;
		state->members[kept] = member;
		status = ptl_hash_map_put(&state->by_pid, member->data.pid, kept++);
	}
	/* The array stays as large as it is: its growth goes by the count alone, so it is made anew. */
	if (!status) {
		struct ptl_state_member **members = NULL;

		for (size_t i = 0; i < kept; i++) {
			if (!ptl_vector_room(&members, i, sizeof(*members))) {
				free(members);
				return ptl_fail_memory("processes", kept * sizeof(*members));
			}
			members[i] = state->members[i];
		}
		free(state->members);
		state->members = members;
		state->count = kept;
		state->ended_count = 0;
	}
	return status;
}

/* The process is no more. */
static int remove_member(struct ptl_state *state, struct ptl_state_member *member)
{
	const uint32_t pid = member->data.pid;
	const uint64_t key = member->data.unique_key;

	state->members[*ptl_hash_map_get(&state->by_pid, pid)] = NULL;
	ptl_hash_map_remove(&state->by_pid, pid);
	free_member(state, member);
	state->ended_count++;
	if (state->ended_count > 64 && state->ended_count > state->count / 2) {
		int status = compact(state);

		if (status)
			return status;
	}
	return ptl_hash_map_put(&state->ended, pid, key);
}

/* ---- processes ------------------------------------------------------------------------------- */

/* A forked process runs its parent's program until it executes another. */
static int begin_program(struct ptl_state_member *member, const struct ptl_state_member *parent,
			 const struct ptl_process_event *data)
{
	const char *program = data->image_file_name, *command_line = data->command_line;
	int status;

	if (parent && !*program && !parent->data.implied) {
		program = parent->program->text;
		if (!*command_line)
			command_line = parent->command_line->text;
	}
	status = set_text(&member->program, program);
	return status ? status : set_text(&member->command_line, command_line);
}

/* Its address space is its parent's, until more is told of it at this same time. */
static int fork_space(struct ptl_state *state, struct ptl_state_member *member,
		      struct ptl_state_member *parent)
{
	int status = ptl_state_decide(state, parent);

	if (status || !parent->space.touched || member->space.touched)
		return status;
	if (!ptl_vector_room(&state->undecided, state->undecided_count, sizeof(*state->undecided)))
		return ptl_fail_memory("processes", state->undecided_count * sizeof(*state->undecided));
	state->undecided[state->undecided_count++] = member->data.pid;
	state->undecided_time = member->data.start;
	member->space.inherited = true;
	member->space.touched = true;
	return ptl_state_space_copy(state, &parent->space, &member->space);
}

static int start_process(struct ptl_state *state, const struct ptl_event *event,
			 const struct ptl_process_event *data, struct ptl_state_member *member)
{
	const bool start = event->descriptor.opcode == PTL_OPCODE_START;
	struct ptl_state_member *parent = NULL;
	int status;

	if (start && data->parent_id != data->process_id)
		parent = ptl_state_member(state, data->parent_id);
	member->data.implied = false;
	member->data.unique_key = data->unique_key;
	member->data.parent_id = data->parent_id;
	member->data.start = start ? event->time : 0;
	status = begin_program(member, parent, data);
	return status || !parent ? status : fork_space(state, member, parent);
}

/* Whether the event tells again of a process that lives. */
static bool is_known(const struct ptl_state_member *member, const struct ptl_process_event *data,
		     uint8_t opcode)
{
	if (data->unique_key && member->data.unique_key)
		return data->unique_key == member->data.unique_key;
	return opcode != PTL_OPCODE_START;
}

static int process_begins(struct ptl_state *state, const struct ptl_event *event,
			  const struct ptl_process_event *data)
{
	struct ptl_state_member *member = ptl_state_member(state, data->process_id);
	const uint64_t *ended = ptl_hash_map_get(&state->ended, data->process_id);
	int status;

	if (member && member->data.implied)
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
	struct ptl_state_member *member = ptl_state_member(state, data->process_id);

	if (member)
		return remove_member(state, member);
	if (ptl_hash_map_get(&state->ended, data->process_id))
		return 0;
	return ptl_hash_map_put(&state->ended, data->process_id, data->unique_key);
}

static int process_executes(struct ptl_state *state, const struct ptl_event *event,
			    const struct ptl_process_event *data)
{
	struct ptl_state_member *member;
	int status = ptl_state_need(state, data->process_id, &member);

	if (status || !member)
		return status;
	status = ptl_state_space_exec(state, member, event->time);
	if (!status)
		status = set_text(&member->program, data->image_file_name);
	if (!status)
		status = set_text(&member->command_line, data->command_line);
	member->data.implied = false;
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
		return ptl_fail(PTL_UNSUPPORTED, "process event with opcode %u",
				event->descriptor.opcode);
	}
}

/* ---- threads --------------------------------------------------------------------------------- */

static size_t find_thread(const struct ptl_state_member *member, uint32_t tid)
{
	size_t i = 0;

	while (i < member->thread_count && member->threads[i].tid != tid)
		i++;
	return i;
}

static void remove_thread(struct ptl_state_member *member, size_t i)
{
	ptl_state_text_drop(member->threads[i].name);
	member->thread_count--;
	memmove(member->threads + i, member->threads + i + 1,
		(member->thread_count - i) * sizeof(*member->threads));
}

/* The array has room for a power of two of threads, and never shrinks below half of that. */
static int add_thread(struct ptl_state_member *member, const struct ptl_thread_event *data)
{
	const size_t count = member->thread_count + 1;
	struct ptl_state_thread *threads = realloc(member->threads, count * sizeof(*threads));
	struct ptl_state_thread thread = {data->thread_id, data->start_address,
					  ptl_state_text_new(data->name)};

	if (threads)
		member->threads = threads;
	if (!threads || !thread.name) {
		ptl_state_text_drop(thread.name);
		return ptl_fail_memory("threads", count * sizeof(*threads));
	}
	member->threads[member->thread_count++] = thread;
	return 0;
}

static int thread_begins(struct ptl_state *state, const struct ptl_thread_event *data, bool start)
{
	struct ptl_state_member *member;
	int status = ptl_state_need(state, data->process_id, &member);
	size_t i;

	if (status || !member)
		return status;
	i = find_thread(member, data->thread_id);
	/* Rundown may tell again of a thread that is known. */
	if (i < member->thread_count && !start)
		return 0;
	if (i < member->thread_count)
		remove_thread(member, i);
	return add_thread(member, data);
}

static void thread_ends(struct ptl_state *state, const struct ptl_thread_event *data)
{
	struct ptl_state_member *member = ptl_state_member(state, data->process_id);
	const size_t i = member ? find_thread(member, data->thread_id) : 0;

	if (member && i < member->thread_count)
		remove_thread(member, i);
}

static int take_thread(struct ptl_state *state, const struct ptl_event *event)
{
	struct ptl_thread_event data;
	int status = ptl_thread_decode(event, &state->storage, &data);

	if (status)
		return status == PTL_NOT_OURS ? 0 : status; /* a context switch */
	switch (event->descriptor.opcode) {
	case PTL_OPCODE_START:
	case PTL_OPCODE_START_RUNDOWN:
	case PTL_OPCODE_END_RUNDOWN:
		return thread_begins(state, &data, event->descriptor.opcode == PTL_OPCODE_START);
	case PTL_OPCODE_END:
		thread_ends(state, &data);
		return 0;
	default:
		return ptl_fail(PTL_UNSUPPORTED, "thread event with opcode %u",
				event->descriptor.opcode);
	}
}

/* ---- events ---------------------------------------------------------------------------------- */

static int take_image(struct ptl_state *state, const struct ptl_event *event)
{
	struct ptl_image_event data;
	int status = ptl_image_decode(event, &state->storage, &data);

	return status ? status : ptl_state_image(state, event, &data);
}

static int take_code(struct ptl_state *state, const struct ptl_event *event)
{
	struct ptl_code_event data;
	int status = ptl_code_decode(event, &data);

	return status ? status : ptl_state_code(state, event, &data);
}

static const struct {
	const struct ptl_guid *provider;
	int (*take)(struct ptl_state *state, const struct ptl_event *event);
} classes[] = {
	{&PTL_PROVIDER_PROCESS, take_process},
	{&PTL_PROVIDER_THREAD, take_thread},
	{&PTL_PROVIDER_IMAGE, take_image},
	{&PTL_PROVIDER_CODE, take_code},
};

int ptl_state_event(struct ptl_state *state, const struct ptl_event *event)
{
	int status = ptl_state_settle(state, event->time);

	if (status)
		return status;
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		if (!ptl_guid_equal(classes[i].provider, &event->descriptor.provider))
			continue;
		state->storage.size = 0;
		status = classes[i].take(state, event);
		break;
	}
	if (state->pieces.failed)
		return ptl_fail_memory("address spaces", 0);
	/* What cannot be understood costs itself alone. */
	if (status == PTL_NOT_OURS || status == PTL_UNSUPPORTED || status == PTL_CORRUPT ||
	    status == PTL_TRUNCATED) {
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
			  int (*inherit)(void *context, struct ptl_state *state, uint32_t pid,
					 uint64_t start),
			  void *context)
{
	state->inherit = inherit;
	state->inherit_context = context;
}

/* ---- questions ------------------------------------------------------------------------------- */

static void describe(const struct ptl_state_member *member, struct ptl_state_process *process)
{
	*process = member->data;
	process->program = member->program->text;
	process->command_line = member->command_line->text;
}

bool ptl_state_find_process(const struct ptl_state *state, uint32_t pid,
			    struct ptl_state_process *process)
{
	const struct ptl_state_member *member = ptl_state_member(state, pid);

	if (member)
		describe(member, process);
	return member != NULL;
}

bool ptl_state_process_at(const struct ptl_state *state, size_t i,
			  struct ptl_state_process *process)
{
	for (size_t k = 0; k < state->count; k++) {
		if (!state->members[k] || i--)
			continue;
		describe(state->members[k], process);
		return true;
	}
	return false;
}
