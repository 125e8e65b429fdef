/* SPDX-License-Identifier: BSD-2-Clause */
/* Current threads: a list per process, in order of start, and one table for all threads. */
#include <stdlib.h>

#include "common/error.h"
#include "format/state/state_internal.h"
#include "common/vector.h"

static struct common_rows thread_rows(const struct ptl_state *state)
{
	return (struct common_rows){state->threads, sizeof(*state->threads), sizeof(state->threads->key)};
}

/* Returns the thread's number plus one; 0 if not found. */
static uint32_t find_thread(const struct ptl_state *state, uint32_t pid, uint32_t tid)
{
	const struct common_rows rows = thread_rows(state);
	const uint32_t key[] = {pid, tid};

	return common_row_index_find(&state->by_thread, &rows, key) + 1;
}

void format_state_thread_remove(struct ptl_state *state, struct format_state_member *member, uint32_t number)
{
	struct format_state_thread *thread = &state->threads[number - 1];
	const struct common_rows rows = thread_rows(state);

	common_row_index_remove(&state->by_thread, &rows, &thread->key);
	*(thread->previous ? &state->threads[thread->previous - 1].next : &member->first_thread) = thread->next;
	*(thread->next ? &state->threads[thread->next - 1].previous : &member->last_thread) = thread->previous;
	format_state_text_drop(state, thread->name);
	*thread = (struct format_state_thread){.next = state->free_thread};
	state->free_thread = number;
}

/* Returns a free element's number plus one; 0 without memory. */
static uint32_t new_thread(struct ptl_state *state)
{
	const uint32_t number = state->free_thread;

	if (number) {
		state->free_thread = state->threads[number - 1].next;
		return number;
	}
	if (state->thread_count >= COMMON_NO_ROW - 1 ||
	    !common_vector_room(&state->threads, state->thread_count, sizeof(*state->threads)))
		return 0;
	return (uint32_t)++state->thread_count;
}

static int add_thread(struct ptl_state *state, struct format_state_member *member, const struct ptl_thread_event *data)
{
	struct format_state_text *name = format_state_text(state, data->name);
	const uint32_t number = name ? new_thread(state) : 0;
	struct common_rows rows;
	int status;

	if (!number) {
		format_state_text_drop(state, name);
		return common_fail_memory("threads", state->thread_count * sizeof(*state->threads));
	}
	state->threads[number - 1] = (struct format_state_thread){
		.key = {data->process_id, data->thread_id},
		.previous = member->last_thread,
		.start_address = data->start_address,
		.name = name,
	};
	rows = thread_rows(state);
	status = common_row_index_add(&state->by_thread, &rows, number - 1);
	if (status) /* the state owns the name */
		return status;
	*(member->last_thread ? &state->threads[member->last_thread - 1].next : &member->first_thread) = number;
	member->last_thread = number;
	return 0;
}

static int renamed(void *context, uint32_t number, const char *name)
{
	struct ptl_state *state = context;
	struct format_state_thread *thread = &state->threads[number - 1];
	struct format_state_text *text = format_state_text(state, name);

	if (!text)
		return common_fail_memory("name of a thread", 0);
	format_state_text_drop(state, thread->name);
	thread->name = text;
	return 0;
}

static bool fold_find_thread(void *context, const struct format_fold_process *process, uint32_t tid, uint32_t *thread)
{
	*thread = find_thread(context, process->pid, tid);
	return *thread != 0;
}

static int thread_begins(void *context, struct format_fold_process *process, uint64_t time, bool started,
			 const struct ptl_thread_event *data)
{
	struct format_state_member *member = (struct format_state_member *)process;
	const uint32_t known = started ? find_thread(context, data->process_id, data->thread_id) : 0;

	(void)time;
	if (known)
		format_state_thread_remove(context, member, known);
	return add_thread(context, member, data);
}

static int thread_ends(void *context, uint64_t time, const struct ptl_thread_event *data)
{
	struct ptl_state *state = context;
	struct format_state_member *member = format_state_member(state, data->process_id);
	const uint32_t known = find_thread(state, data->process_id, data->thread_id);

	(void)time;
	if (member && known)
		format_state_thread_remove(state, member, known);
	return 0;
}

const struct format_fold_threads format_state_threads = {
	.find = fold_find_thread,
	.begins = thread_begins,
	.renamed = renamed,
	.ends = thread_ends,
};
