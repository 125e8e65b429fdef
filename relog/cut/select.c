/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the processes named on the command line. */
#include "relog/cut/select.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ptl/state.h>

#include "common/error.h"
#include "common/memory_budget.h"
#include "common/program/message.h"
#include "common/text/program_name.h"
#include "common/vector.h"
#include "format/relogger/ahead.h"

#define LISTED_MAX 16
#define PID_BYTES 128 /* memory for a pid in both maps */

/* ---- the subject of an event ------------------------------------------------------------------ */

void relog_subject_of(const struct ptl_event *event, struct ptl_bytes *storage, struct relog_subject *subject)
{
	storage->size = 0;
	subject->understood = format_kernel_decode(event, storage, &subject->event) == 0;
	/* A switch is about two threads, and names no process. */
	if (subject->event.class == FORMAT_CLASS_SWITCH)
		subject->understood = false;
}

/* ---- the search ------------------------------------------------------------------------------ */

struct relog_search {
	struct relog_selection *selection;
	struct ptl_relogger *relogger;
	struct ptl_relogger_input *input;
	struct ptl_state *state;
	/* processes that any event reports: the processes of --pid, and a few more for messages */
	struct common_hash_map seen;
	struct common_hash_map threads; /* threads of --tid that the inputs have */
	struct common_hash_map live;    /* selected processes that have not ended; --tree selects their children */
	struct common_memory_budget memory_budget;
	struct ptl_bytes storage;
};

/* Adds a process of an input that is being written to the fresh ones. */
static int note_fresh(struct relog_search *search, uint32_t pid)
{
	struct relog_selection *selection = search->selection;

	if (!selection->search)
		return 0;
	if (!common_vector_room(&selection->fresh, selection->fresh_count, sizeof(*selection->fresh)))
		return common_fail_memory("processes", (selection->fresh_count + 1) * sizeof(*selection->fresh));
	selection->fresh[selection->fresh_count++] = pid;
	format_relogger_ask_again(search->relogger);
	return 0;
}

static int want(struct relog_search *search, uint32_t pid)
{
	const bool known = common_hash_map_get(&search->selection->pids, pid);
	int status = 0;

	if (!known)
		status = common_memory_budget_take(&search->memory_budget, PID_BYTES, "processes that are kept",
						   search->selection->pids.used + 1);
	if (!status && !known)
		status = note_fresh(search, pid);
	if (!status)
		status = common_hash_map_put(&search->selection->pids, pid, 1);
	return status ? status : common_hash_map_put(&search->live, pid, 1);
}

static bool matches(const struct relog_cut_settings *settings, const struct ptl_state_process *process)
{
	for (size_t i = 0; i < settings->processes.count; i++)
		if (common_program_matches(settings->processes.list[i], process->program, process->command_line))
			return true;
	return false;
}

/* A process begins, ends, or executes another program. */
static int see_process(struct relog_search *search, const struct relog_subject *subject)
{
	const struct relog_cut_settings *settings = search->selection->settings;
	struct ptl_state_process process;

	if (subject->event.action == FORMAT_ACTION_END) {
		common_hash_map_remove(&search->live, subject->event.pid);
		return 0;
	}
	if (ptl_state_find_process(search->state, subject->event.pid, &process) && matches(settings, &process))
		return want(search, subject->event.pid);
	if (settings->pids.count && common_id_set_has(&settings->pids, subject->event.pid))
		return want(search, subject->event.pid);
	if (settings->tree && subject->event.action != FORMAT_ACTION_EXEC &&
	    common_hash_map_get(&search->live, subject->event.process.parent_id))
		return want(search, subject->event.pid);
	return 0;
}

static int see(struct relog_search *search, uint32_t pid, uint32_t tid)
{
	const struct relog_cut_settings *settings = search->selection->settings;
	int status = 0;

	if (pid == PTL_NO_ID)
		return 0;
	if (search->seen.used < LISTED_MAX || (settings->pids.count && common_id_set_has(&settings->pids, pid)))
		status = common_hash_map_put(&search->seen, pid, 1);
	if (status || !settings->tids.count || tid == PTL_NO_ID || !common_id_set_has(&settings->tids, tid) ||
	    common_hash_map_get(&search->threads, tid) ||
	    (settings->pids.count && !common_id_set_has(&settings->pids, pid)))
		return status;
	return common_hash_map_put(&search->threads, tid, pid);
}

static int see_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct relog_search *search = context;
	struct ptl_event mapped = *event;
	struct relog_subject subject;
	int status = ptl_relogger_map_event(search->input, &mapped);

	(void)trace;
	if (!status)
		status = see(search, mapped.pid, mapped.tid);
	if (status)
		return status;
	relog_subject_of(&mapped, &search->storage, &subject);
	if (subject.event.class == FORMAT_CLASS_NONE || !subject.understood)
		return 0;
	status = see(search, subject.event.pid, subject.event.tid);
	if (!status && subject.event.class == FORMAT_CLASS_PROCESS)
		status = ptl_state_event(search->state, &mapped);
	if (!status && subject.event.class == FORMAT_CLASS_PROCESS)
		status = see_process(search, &subject);
	return status;
}

/* ---- the result ------------------------------------------------------------------------------ */

/* Writes the ids of a map as a list for a message, at most LISTED_MAX ids. */
static void list_ids(const struct common_hash_map *map, struct ptl_bytes *text)
{
	uint64_t id, value;
	size_t at = 0, listed = 0;
	char number[24];

	while (listed < LISTED_MAX && common_hash_map_next(map, &at, &id, &value)) {
		const int size = snprintf(number, sizeof(number), "%s%" PRIu64, listed ? ", " : "", id);

		common_write_bytes(text, number, (size_t)size);
		listed++;
	}
	if (listed == LISTED_MAX)
		common_write_bytes(text, ", ...", 5);
	common_write_bytes(text, "", 1);
}

static int fail_absent(const struct relog_search *search, const char *what, uint32_t id)
{
	struct ptl_bytes text = {0};
	int status;

	list_ids(&search->seen, &text);
	status = common_fail(PTL_MISUSE, "there is no %s %" PRIu32 " in the trace; there are the processes %s", what,
			     id, text.failed ? "" : (const char *)text.data);
	common_bytes_free(&text);
	return status;
}

static int check_all_found(const struct relog_search *search)
{
	const struct relog_cut_settings *settings = search->selection->settings;

	for (size_t i = 0; i < settings->pids.count; i++)
		if (!common_hash_map_get(&search->seen, settings->pids.ids[i]))
			return fail_absent(search, "process", settings->pids.ids[i]);
	for (size_t i = 0; i < settings->tids.count; i++)
		if (!common_hash_map_get(&search->threads, settings->tids.ids[i]))
			return fail_absent(search, "thread", settings->tids.ids[i]);
	if (settings->processes.count && !search->selection->pids.used)
		return common_fail(PTL_MISUSE,
				   "--process: no process in the trace ran '%s'; 'ptl-dump processes' lists them",
				   settings->processes.list[0]);
	return 0;
}

/* Without --pid and --process, selects the processes of the threads of --tid. */
static int want_owners(struct relog_search *search)
{
	const struct relog_cut_settings *settings = search->selection->settings;
	uint64_t tid, pid;
	size_t at = 0;
	int status = 0;

	if (settings->pids.count || settings->processes.count)
		return 0;
	while (!status && common_hash_map_next(&search->threads, &at, &tid, &pid))
		status = want(search, (uint32_t)pid);
	return status;
}

static int want_named(struct relog_search *search)
{
	const struct relog_cut_settings *settings = search->selection->settings;
	int status = 0;

	for (size_t i = 0; i < settings->pids.count && !status; i++)
		status = want(search, settings->pids.ids[i]);
	return status;
}

static int see_streams(struct relog_search *search)
{
	struct ptl_trace *trace = ptl_relogger_input_trace(search->input);
	int status = 0;

	for (size_t i = 0; i < ptl_stream_count(trace) && !status; i++) {
		struct ptl_stream stream = *ptl_stream_at(trace, i);

		status = relog_map_stream(search->input, &stream);
		if (!status)
			status = see(search, stream.pid, stream.tid);
	}
	return status;
}

static int look_through(struct relog_search *search)
{
	static const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = see_event};
	int status = want_named(search);

	if (!status)
		status = see_streams(search);
	return status ? status : ptl_process(ptl_relogger_input_trace(search->input), NULL, &callbacks, search);
}

static int finish_search(struct relog_search *search)
{
	const int status = check_all_found(search);

	return status ? status : want_owners(search);
}

static void free_search(struct relog_search *search)
{
	ptl_state_free(search->state);
	common_hash_map_free(&search->seen);
	common_hash_map_free(&search->threads);
	common_hash_map_free(&search->live);
	common_bytes_free(&search->storage);
	search->selection->memory_budget = search->memory_budget;
}

static int select_of_whole(struct relog_selection *selection, struct ptl_relogger *relogger)
{
	struct relog_search search = {.selection = selection, .relogger = relogger};
	int status = 0;

	for (size_t i = 0; i < ptl_relogger_input_count(relogger) && !status; i++) {
		search.input = ptl_relogger_input_at(relogger, i);
		status = ptl_state_new(&search.state);
		if (!status)
			status = look_through(&search);
		ptl_state_free(search.state);
		search.state = NULL;
		common_hash_map_free(&search.live);
	}
	if (!status)
		status = finish_search(&search);
	free_search(&search);
	return status;
}

/* ---- an input that is being written ---------------------------------------------------------- */

static int see_ahead(void *context, const struct ptl_event *event)
{
	return see_event(context, NULL, event);
}

static int select_as_it_comes(struct relog_selection *selection, struct ptl_relogger *relogger)
{
	struct relog_search *search = calloc(1, sizeof(*search));
	int status;

	if (!search)
		return common_fail_memory("a search", sizeof(*search));
	*search = (struct relog_search){
		.selection = selection, .relogger = relogger, .input = ptl_relogger_input_at(relogger, 0)};
	selection->search = search;
	status = ptl_state_new(&search->state);
	if (!status)
		status = want_named(search);
	return status ? status : format_relogger_look_ahead(relogger, see_ahead, search);
}

int relog_select_end(struct relog_selection *selection)
{
	int status = selection->search ? see_streams(selection->search) : 0;

	if (status || !selection->search)
		return status;
	status = check_all_found(selection->search);
	if (status == PTL_MISUSE) {
		common_message_warning("%s", ptl_error_text());
		status = 0;
	}
	return status;
}

/* ---------------------------------------------------------------------------------------------- */

int relog_select(struct relog_selection *selection, const struct relog_cut_settings *settings,
		 struct ptl_relogger *relogger)
{
	int status;

	*selection = (struct relog_selection){
		.settings = settings,
		.by_process = settings->pids.count || settings->tids.count || settings->processes.count,
	};
	if (!selection->by_process)
		return 0;
	status = format_relogger_is_live(relogger) ? select_as_it_comes(selection, relogger)
						   : select_of_whole(selection, relogger);
	if (status)
		relog_selection_free(selection);
	return status;
}

void relog_selection_free(struct relog_selection *selection)
{
	if (selection->search)
		free_search(selection->search);
	free(selection->search);
	selection->search = NULL;
	free(selection->fresh);
	selection->fresh = NULL;
	common_hash_map_free(&selection->pids);
	common_memory_budget_close(&selection->memory_budget);
}

int relog_map_stream(const struct ptl_relogger_input *input, struct ptl_stream *stream)
{
	const int status = ptl_relogger_map_id(input, &stream->pid);

	return status ? status : ptl_relogger_map_id(input, &stream->tid);
}

bool relog_wants_process(const struct relog_selection *selection, uint32_t pid)
{
	return !selection->by_process || common_hash_map_get(&selection->pids, pid);
}

bool relog_wants_thread(const struct relog_selection *selection, uint32_t pid, uint32_t tid)
{
	return relog_wants_process(selection, pid) && common_id_set_has(&selection->settings->tids, tid);
}

bool relog_wants_stream(const struct relog_selection *selection, const struct ptl_stream *stream)
{
	if (stream->pid == PTL_NO_ID)
		return true;
	return relog_wants_process(selection, stream->pid) &&
	       (stream->tid == PTL_NO_ID || common_id_set_has(&selection->settings->tids, stream->tid));
}
