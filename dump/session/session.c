/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared steps of commands. */
#include "dump/session/session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/text/nearest.h"
#include "common/text/program_name.h"
#include "common/text/text.h"
#include "dump/session/event_owner.h"
#include "flow/symbol/made_code.h"

#define LISTED_MAX 16

/* ---- check of the selection ---------------------------------------------------------------------- */

/*
 * Fails with a list of the existing items. describe appends item i of count to the text, or appends nothing to skip the
 * item.
 */
static int fail_absent(const struct dump_session *session, const struct flow_timeline *timeline, const char *what,
		       uint32_t id, size_t count,
		       void (*describe)(const struct dump_session *session, const struct flow_timeline *timeline,
					size_t i, struct ptl_bytes *text))
{
	struct ptl_bytes text = {0};
	size_t listed = 0, i = 0;
	int status;

	for (; i < count && listed < LISTED_MAX; i++) {
		const size_t before = text.size;

		describe(session, timeline, i, &text);
		if (text.size > before) {
			common_text_add(&text, ", ");
			listed++;
		}
	}
	if (i < count)
		common_text_add(&text, "...");
	else if (listed)
		text.size -= 2;
	else
		common_text_add(&text, "none");
	status = common_fail(PTL_MISUSE, "there is no %s %" PRIu32 " in %s; there is: %s", what, id, session->path,
			     common_text_string(&text));
	common_bytes_free(&text);
	return status;
}

static void describe_process(const struct dump_session *session, const struct flow_timeline *timeline, size_t i,
			     struct ptl_bytes *text)
{
	const struct flow_timeline_process *process = flow_timeline_process(timeline, i);

	(void)session;
	common_text_format(text, "%" PRIu32, process->pid);
	if (*process->name)
		common_text_format(text, " (%s)", process->name);
}

static void describe_thread(const struct dump_session *session, const struct flow_timeline *timeline, size_t i,
			    struct ptl_bytes *text)
{
	const struct flow_timeline_thread *thread = flow_timeline_thread(timeline, i);

	if (common_id_set_has(&session->options->filter.pids, thread->pid))
		common_text_format(text, "%" PRIu32 " (of %" PRIu32 ")", thread->tid, thread->pid);
}

static void describe_cpu(const struct dump_session *session, const struct flow_timeline *timeline, size_t i,
			 struct ptl_bytes *text)
{
	const struct ptl_stream *stream = ptl_stream_at(session->trace, i);

	(void)timeline;
	if (stream->cpu != PTL_NO_CPU)
		common_text_format(text, "%" PRIu32, stream->cpu);
}

static bool ran(const struct flow_timeline_process *process, const char *pattern)
{
	for (size_t i = 0; i < process->program_count; i++)
		if (common_program_matches(pattern, process->programs[i].path, process->programs[i].command_line))
			return true;
	return false;
}

/* Adds the processes of --process to the set of --pid. */
static int find_programs(const struct dump_session *session, const struct flow_timeline *timeline)
{
	struct dump_filter *filter = &session->options->filter;
	const size_t count = flow_timeline_process_count(timeline);

	for (size_t i = 0; i < filter->processes.count; i++) {
		bool found = false;

		for (size_t k = 0; k < count; k++) {
			const struct flow_timeline_process *process = flow_timeline_process(timeline, k);
			int status = 0;

			if (!ran(process, filter->processes.list[i]))
				continue;
			found = true;
			if (!filter->pids.count || !common_id_set_has(&filter->pids, process->pid))
				status = common_id_set_add(&filter->pids, process->pid);
			if (status < 0)
				return status;
		}
		if (!found)
			return common_fail(PTL_MISUSE,
					   "--process: no process in %s ran '%s'; 'ptl-dump processes' lists them",
					   session->path, filter->processes.list[i]);
	}
	return 0;
}

/* A process, or a thread of selected processes, that a context switch may name. */
struct switched {
	const struct common_id_set *pids; /* selected processes; NULL: context switches name no thread */
	uint32_t id;
};

static bool is_switched(void *context, uint32_t pid, uint32_t tid)
{
	const struct switched *wanted = context;

	return wanted->pids ? tid == wanted->id && common_id_set_has(wanted->pids, pid) : pid == wanted->id;
}

static int check_pids(const struct dump_session *session, const struct flow_timeline *timeline)
{
	const struct common_id_set *pids = &session->options->filter.pids;
	const size_t count = flow_timeline_process_count(timeline);

	for (size_t i = 0; i < pids->count; i++) {
		bool found = false;
		size_t k = 0;
		int status = 0;

		while (k < count && flow_timeline_process(timeline, k)->pid != pids->ids[i])
			k++;
		if (k == count)
			status = dump_event_owner_find_process(session->trace, pids->ids[i], &found);
		found |= k == count &&
			 flow_timeline_any_switch(timeline, is_switched, &(struct switched){.id = pids->ids[i]});
		if (status == 0 && k == count && !found)
			status = fail_absent(session, timeline, "process", pids->ids[i], count, describe_process);
		if (status < 0)
			return status;
	}
	return 0;
}

static int check_tids(const struct dump_session *session, const struct flow_timeline *timeline)
{
	const struct common_id_set *tids = &session->options->filter.tids;
	const size_t count = flow_timeline_thread_count(timeline);

	for (size_t i = 0; i < tids->count; i++) {
		bool found = false;
		size_t k = 0;
		int status = 0;

		while (k < count &&
		       !(flow_timeline_thread(timeline, k)->tid == tids->ids[i] &&
			 common_id_set_has(&session->options->filter.pids, flow_timeline_thread(timeline, k)->pid)))
			k++;
		if (k == count)
			status = dump_event_owner_find_thread(session->trace, tids->ids[i],
							      &session->options->filter.pids, &found);
		found |= k == count &&
			 flow_timeline_any_switch(timeline, is_switched,
						  &(struct switched){&session->options->filter.pids, tids->ids[i]});
		if (status == 0 && k == count && !found)
			status = fail_absent(session, timeline, "thread", tids->ids[i], count, describe_thread);
		if (status < 0)
			return status;
	}
	return 0;
}

/*
 * Events may name a CPU that has no stream. Only a number that is neither in a stream nor below the machine's CPU count
 * is wrong.
 */
static int check_cpus(const struct dump_session *session, const struct flow_timeline *timeline)
{
	const struct common_id_set *cpus = &session->options->filter.cpus;
	const size_t count = ptl_stream_count(session->trace);
	const uint32_t machine_cpus = ptl_trace_machine(session->trace)->cpus;

	for (size_t i = 0; i < cpus->count; i++) {
		size_t k = 0;

		/* Streams of the software source belong to threads, not to CPUs. */
		while (k < count && ptl_stream_at(session->trace, k)->cpu != cpus->ids[i])
			k++;
		if (k == count && cpus->ids[i] >= machine_cpus)
			return fail_absent(session, timeline, "CPU", cpus->ids[i], count, describe_cpu);
	}
	return 0;
}

static bool is_narrowed(const struct dump_filter *filter)
{
	return filter->pids.count || filter->tids.count || filter->cpus.count || filter->images.count;
}

/* Fails for a pattern without a matching image. */
static int fail_image(const struct dump_session *session, const struct flow_timeline *timeline, const char *pattern)
{
	struct common_nearest nearest = {.word = pattern};

	for (size_t i = 0; i < flow_timeline_image_count(timeline); i++)
		common_nearest_look(&nearest, common_base_name(flow_timeline_image(timeline, i)->data.file_name));
	return common_fail(PTL_MISUSE,
			   "--image: no image in %s is called '%s'%s; 'ptl-dump images' lists "
			   "them, and patterns may have * and ?",
			   session->path, pattern, common_nearest_question(&nearest));
}

int dump_session_check_images(const struct dump_session *session, const struct flow_timeline *timeline)
{
	const struct common_string_list *patterns = &session->options->filter.images;
	const size_t count = flow_timeline_image_count(timeline);

	for (size_t i = 0; i < patterns->count; i++) {
		size_t k = 0;

		while (k < count &&
		       !dump_filter_image_is(patterns->list[i], flow_timeline_image(timeline, k)->data.file_name))
			k++;
		if (k == count)
			return fail_image(session, timeline, patterns->list[i]);
	}
	return 0;
}

int dump_session_timeline(const struct dump_session *session, struct flow_timeline **timeline)
{
	struct flow_made_set made = {0};
	int status = flow_made_open(&made, session->trace);
	uint64_t skipped;

	if (status == 0)
		status = flow_timeline_build_named(session->trace, &made, timeline);
	flow_made_free(&made);

	if (status < 0)
		return status;
	status = check_pids(session, *timeline);
	if (status == 0)
		status = find_programs(session, *timeline);
	if (status == 0)
		status = check_tids(session, *timeline);
	if (status == 0)
		status = check_cpus(session, *timeline);
	if (status == 0)
		status = session->several ? 0 : dump_session_check_images(session, *timeline);
	if (status < 0) {
		flow_timeline_free(*timeline);
		*timeline = NULL;
		return status;
	}
	skipped = flow_timeline_skipped(*timeline);
	if (skipped)
		common_message_warning("%s: %" PRIu64 " events about processes, threads and images were "
				       "not understood",
				       session->path, skipped);
	return 0;
}

int dump_session_check(const struct dump_session *session)
{
	const struct dump_filter *filter = &session->options->filter;
	struct flow_timeline *timeline = NULL;
	int status = 0;

	if (filter->processes.count || is_narrowed(filter))
		status = dump_session_timeline(session, &timeline);
	flow_timeline_free(timeline);
	return status;
}

/* ---- views --------------------------------------------------------------------------------------- */

static void show_progress(void *context, uint64_t done, uint64_t total)
{
	struct ptl_bytes text = {0};

	(void)context;
	common_text_size(&text, done);
	common_text_add(&text, " of ");
	common_text_size(&text, total);
	common_progress("decoded %s", common_text_string(&text));
	common_bytes_free(&text);
}

struct flow_view_options dump_session_view_options(const struct dump_session *session)
{
	const struct dump_options *options = session->options;
	const struct dump_filter *filter = &options->filter;

	return (struct flow_view_options){
		.selection =
			{
				.pids = filter->pids.ids,
				.pid_count = filter->pids.count,
				.tids = filter->tids.ids,
				.tid_count = filter->tids.count,
				.cpus = filter->cpus.ids,
				.cpu_count = filter->cpus.count,
				.first_time = filter->first_time,
				.last_time = filter->last_time == UINT64_MAX ? 0 : filter->last_time,
			},
		.engine = options->engine,
		.shard = session->saver    ? dump_partial_save_shard(session->saver)
			 : session->merged ? dump_partial_set_shard(session->merged)
					   : NULL,
		.threads = options->jobs,
		.progress = session->progress ? show_progress : NULL,
	};
}

int dump_session_images(const struct dump_session *session, const struct flow_timeline *timeline, bool **wanted)
{
	const struct dump_filter *filter = &session->options->filter;
	const size_t count = flow_timeline_image_count(timeline);

	*wanted = NULL;
	if (!filter->images.count)
		return 0;
	*wanted = calloc(count + 1, sizeof(**wanted));
	if (!*wanted)
		return common_fail_memory("images", count);
	for (size_t i = 0; i < count; i++)
		(*wanted)[i] = dump_filter_wants_image(filter, flow_timeline_image(timeline, i)->data.file_name);
	return 0;
}

void dump_session_note_nothing(const struct dump_session *session, const char *what, bool any)
{
	const struct dump_filter *filter = &session->options->filter;
	const struct ptl_machine *machine = ptl_trace_machine(session->trace);
	const bool by_time = common_time_span_given(&filter->span);

	if (!any) {
		common_message_note("%s has no %s", session->path, what);
		return;
	}
	common_message_note(
		"%s has %s, but none%s%s%s", session->path, what, is_narrowed(filter) ? " of what was asked for" : "",
		by_time ? " in the span of --time" : "", is_narrowed(filter) || by_time ? "" : " that could be shown");
	if (by_time && machine->end_time > machine->start_time && filter->first_time > machine->end_time)
		common_message_hint("a span within 0s..%.9fs", (double)(machine->end_time - machine->start_time) / 1e9);
}

void dump_session_note_no_flow(const struct dump_session *session)
{
	const struct dump_filter *filter = &session->options->filter;
	const struct ptl_machine *machine = ptl_trace_machine(session->trace);
	const size_t count = ptl_stream_count(session->trace);
	bool any = false, events = false;

	for (size_t i = 0; i < count; i++) {
		const struct ptl_stream *stream = ptl_stream_at(session->trace, i);

		any |= stream->kind == PTL_KIND_PT && stream->bytes;
		events |= stream->kind == PTL_KIND_EVENTS && stream->bytes;
	}
	if (any && filter->last_time >= machine->start_time && common_time_span_given(&filter->span) &&
	    !(machine->end_time && filter->first_time > machine->end_time)) {
		common_message_note("nothing%s ran in the span of --time",
				    is_narrowed(filter) ? " of what was asked for" : "");
		return;
	}
	dump_session_note_nothing(session, "Intel PT", any);
	if (!any && events)
		common_message_hint("ptl-dump events %s    shows the events that it has", session->path);
}

void dump_session_hint_code(const struct dump_session *session)
{
	if (!session->options->code_store && !getenv("PTL_CODE_STORE"))
		common_message_hint("--code-store FOLDER, if ptl-relog --detach-code put it there; or the machine that "
				    "still has the files that ran");
}

void dump_session_warn_symbols(const struct dump_session *session, const struct flow_symbols *symbols)
{
	const size_t count = symbols ? flow_symbols_unreadable(symbols) : 0;
	const size_t replaced = symbols ? flow_symbols_replaced(symbols) : 0;

	if (replaced)
		common_message_note(
			"%zu functions made at run time were replaced by later functions at an unknown time: code at "
			"their addresses has the name of the last function, whenever it ran",
			replaced);
	if (!count)
		return;
	common_message_warning("%zu symbol tables could not be read: names are missing", count);
	dump_session_hint_code(session);
}

void dump_session_say_lost(const struct dump_session *session)
{
	uint64_t events = 0;
	const char *cause = NULL;
	bool others = false;

	for (size_t i = 0; i < ptl_loss_count(session->trace); i++) {
		const struct ptl_loss *loss = ptl_loss_at(session->trace, i);

		if (loss->kind != PTL_LOSS_EVENTS)
			continue;
		events += loss->count;
		others |= cause && strcmp(cause, loss->cause) != 0;
		cause = cause ? cause : loss->cause;
	}
	if (events)
		common_message_warning("%" PRIu64 " events were lost, at least in part, when they were recorded: %s%s",
				       events, cause, others ? "; and for other causes" : "");
	else if (cause)
		common_message_warning("events were lost, at least in part, when they were recorded: %s%s", cause,
				       others ? "; and for other causes" : "");
}

void dump_json_time(struct dump_session *session, const char *key, uint64_t time)
{
	struct common_json *json = &session->json_out;

	if (time)
		common_json_i64(json, key, (int64_t)(time - ptl_trace_machine(session->trace)->start_time));
	else
		common_json_null(json, key);
}
