/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared steps of commands. */
#include "dump/run/run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/plural.h"
#include "common/program/message.h"
#include "common/text/nearest.h"
#include "common/text/program_name.h"
#include "common/text/text.h"
#include "dump/run/event_owner.h"
#include "flow/symbol/made_code.h"

#define LISTED_MAX 16

/* ---- check of the selection ---------------------------------------------------------------------- */

/*
 * Fails with a list of the existing items. describe appends item i of count to the text, or appends nothing to skip the
 * item.
 */
static int fail_absent(const struct dump_run *run, const struct flow_timeline *timeline, const char *what, uint32_t id,
		       size_t count,
		       void (*describe)(const struct dump_run *run, const struct flow_timeline *timeline, size_t i,
					struct ptl_bytes *text))
{
	struct ptl_bytes text = {0};
	size_t listed = 0, i = 0;
	int status;

	for (; i < count && listed < LISTED_MAX; i++) {
		const size_t before = text.size;

		describe(run, timeline, i, &text);
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
	status = common_fail(PTL_MISUSE, "there is no %s %" PRIu32 " in %s; there is: %s", what, id, run->path,
			     common_text_string(&text));
	common_bytes_free(&text);
	return status;
}

static void describe_process(const struct dump_run *run, const struct flow_timeline *timeline, size_t i,
			     struct ptl_bytes *text)
{
	const struct flow_timeline_process *process = flow_timeline_process(timeline, i);

	(void)run;
	common_text_format(text, "%" PRIu32, process->pid);
	if (*process->name)
		common_text_format(text, " (%s)", process->name);
}

static void describe_thread(const struct dump_run *run, const struct flow_timeline *timeline, size_t i,
			    struct ptl_bytes *text)
{
	const struct flow_timeline_thread *thread = flow_timeline_thread(timeline, i);

	if (common_id_set_has(&run->options->filter.pids, thread->pid))
		common_text_format(text, "%" PRIu32 " (of %" PRIu32 ")", thread->tid, thread->pid);
}

static void describe_cpu(const struct dump_run *run, const struct flow_timeline *timeline, size_t i,
			 struct ptl_bytes *text)
{
	const struct ptl_stream *stream = ptl_stream_at(run->trace, i);

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
static int find_programs(const struct dump_run *run, const struct flow_timeline *timeline)
{
	struct analysis_filter *filter = &run->options->filter;
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
					   run->path, filter->processes.list[i]);
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

static int check_pids(const struct dump_run *run, const struct flow_timeline *timeline)
{
	const struct common_id_set *pids = &run->options->filter.pids;
	const size_t count = flow_timeline_process_count(timeline);

	for (size_t i = 0; i < pids->count; i++) {
		bool found = false;
		size_t k = 0;
		int status = 0;

		while (k < count && flow_timeline_process(timeline, k)->pid != pids->ids[i])
			k++;
		if (k == count)
			status = dump_event_owner_find_process(run->trace, pids->ids[i], &found);
		found |= k == count &&
			 flow_timeline_any_switch(timeline, is_switched, &(struct switched){.id = pids->ids[i]});
		if (status == 0 && k == count && !found)
			status = fail_absent(run, timeline, "process", pids->ids[i], count, describe_process);
		if (status < 0)
			return status;
	}
	return 0;
}

static int check_tids(const struct dump_run *run, const struct flow_timeline *timeline)
{
	const struct common_id_set *tids = &run->options->filter.tids;
	const size_t count = flow_timeline_thread_count(timeline);

	for (size_t i = 0; i < tids->count; i++) {
		bool found = false;
		size_t k = 0;
		int status = 0;

		while (k < count &&
		       !(flow_timeline_thread(timeline, k)->tid == tids->ids[i] &&
			 common_id_set_has(&run->options->filter.pids, flow_timeline_thread(timeline, k)->pid)))
			k++;
		if (k == count)
			status = dump_event_owner_find_thread(run->trace, tids->ids[i], &run->options->filter.pids,
							      &found);
		found |= k == count &&
			 flow_timeline_any_switch(timeline, is_switched,
						  &(struct switched){&run->options->filter.pids, tids->ids[i]});
		if (status == 0 && k == count && !found)
			status = fail_absent(run, timeline, "thread", tids->ids[i], count, describe_thread);
		if (status < 0)
			return status;
	}
	return 0;
}

/*
 * Events may name a CPU that has no stream. Only a number that is neither in a stream nor below the machine's CPU count
 * is wrong.
 */
static int check_cpus(const struct dump_run *run, const struct flow_timeline *timeline)
{
	const struct common_id_set *cpus = &run->options->filter.cpus;
	const size_t count = ptl_stream_count(run->trace);
	const uint32_t machine_cpus = ptl_trace_machine(run->trace)->cpus;

	for (size_t i = 0; i < cpus->count; i++) {
		size_t k = 0;

		/* Streams of the software source belong to threads, not to CPUs. */
		while (k < count && ptl_stream_at(run->trace, k)->cpu != cpus->ids[i])
			k++;
		if (k == count && cpus->ids[i] >= machine_cpus)
			return fail_absent(run, timeline, "CPU", cpus->ids[i], count, describe_cpu);
	}
	return 0;
}

static int check_images(const struct dump_run *run, const struct flow_timeline *timeline)
{
	const struct analysis_input input = dump_run_input(run);

	return analysis_input_check_images(&input, timeline);
}

/* Takes the timeline that a server has built, or builds one. */
static int take_timeline(const struct dump_run *run, struct flow_timeline **timeline)
{
	struct dump_prepared *prepared = run->options->prepared;

	if (!prepared || !prepared->timeline)
		return flow_made_timeline(run->trace, timeline);
	*timeline = prepared->timeline;
	prepared->timeline = NULL;
	return 0;
}

int dump_run_timeline(const struct dump_run *run, struct flow_timeline **timeline)
{
	int status = take_timeline(run, timeline);
	uint64_t skipped;

	if (status < 0)
		return status;
	status = check_pids(run, *timeline);
	if (status == 0)
		status = find_programs(run, *timeline);
	if (status == 0)
		status = check_tids(run, *timeline);
	if (status == 0)
		status = check_cpus(run, *timeline);
	if (status == 0)
		status = run->several ? 0 : check_images(run, *timeline);
	if (status < 0) {
		flow_timeline_free(*timeline);
		*timeline = NULL;
		return status;
	}
	skipped = flow_timeline_skipped(*timeline);
	if (skipped)
		common_message_warning(
			"%s: %" PRIu64
			" " COMMON_PLURAL("event", "events") " about processes, threads and images " COMMON_PLURAL(
				"was", "were") " not understood",
			run->path, skipped);
	return 0;
}

int dump_run_check(const struct dump_run *run)
{
	const struct analysis_filter *filter = &run->options->filter;
	struct flow_timeline *timeline = NULL;
	int status = 0;

	if (filter->processes.count || analysis_filter_is_narrowed(filter))
		status = dump_run_timeline(run, &timeline);
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

struct flow_view_options dump_run_view_options(const struct dump_run *run)
{
	const struct dump_options *options = run->options;
	const struct analysis_filter *filter = &options->filter;

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
		.shard = run->saver    ? dump_partial_save_shard(run->saver)
			 : run->merged ? dump_partial_set_shard(run->merged)
				       : NULL,
		.threads = options->jobs,
		.spans = run->spans,
		.progress = run->progress ? show_progress : NULL,
	};
}

enum flow_names dump_run_names(const struct dump_run *run)
{
	if (run->options->no_demangle)
		return FLOW_NAMES_LINKER;
	return run->shortens_names ? FLOW_NAMES_SHORT : FLOW_NAMES_WHOLE;
}

struct analysis_input dump_run_input(const struct dump_run *run)
{
	return (struct analysis_input){
		.trace = run->trace,
		.path = run->path,
		.filter = &run->options->filter,
		.view = dump_run_view_options(run),
		.names = dump_run_names(run),
	};
}

int dump_run_cover(const struct dump_run *run, struct analysis_coverage *coverage)
{
	struct analysis_input input;
	struct flow_timeline *timeline;
	int status = dump_run_timeline(run, &timeline);

	if (status < 0)
		return status;
	input = dump_run_input(run);
	status = analysis_coverage_add(coverage, &input, timeline);
	flow_timeline_free(timeline);
	return status;
}

void dump_run_note_no_flow(const struct dump_run *run)
{
	const struct analysis_input input = dump_run_input(run);

	analysis_note_no_flow(&input);
}

void dump_run_note_nothing(const struct dump_run *run, const char *what, bool any)
{
	const struct analysis_input input = dump_run_input(run);

	analysis_note_nothing(&input, what, any);
}

int dump_run_images(const struct dump_run *run, const struct flow_timeline *timeline, bool **wanted)
{
	const struct analysis_input input = dump_run_input(run);

	return analysis_input_images(&input, timeline, wanted);
}

void dump_run_hint_code(const struct dump_run *run)
{
	if (!run->options->code_store && !getenv("PTL_CODE_STORE"))
		common_message_hint("--code-store FOLDER, if ptl-relog --detach-code put it there; or the machine that "
				    "still has the files that ran");
}

void dump_run_warn_symbols(const struct dump_run *run, const struct flow_symbols *symbols)
{
	const size_t count = symbols ? flow_symbols_unreadable(symbols) : 0;
	const size_t replaced = symbols ? flow_symbols_replaced(symbols) : 0;

	if (replaced)
		common_message_note(
			"%zu " COMMON_PLURAL("function", "functions") " made at run time " COMMON_PLURAL(
				"was", "were") " replaced by later functions at an unknown time: code at their "
					       "addresses has the name of the last function, whenever it ran",
			replaced);
	if (!count)
		return;
	common_message_warning("%zu symbol " COMMON_PLURAL("table", "tables") " could not be read: names are missing",
			       count);
	dump_run_hint_code(run);
}

void dump_json_time(struct dump_run *run, const char *key, uint64_t time)
{
	struct common_json *json = &run->json_out;

	if (time)
		common_json_i64(json, key, (int64_t)(time - ptl_trace_machine(run->trace)->start_time));
	else
		common_json_null(json, key);
}
