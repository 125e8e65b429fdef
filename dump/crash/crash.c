/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes failed processes, and finds the thread and the place of each failure. */
#include "dump/crash/crash.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "dump/crash/runtime_name.h"

/* Blocks that are kept of each thread, and of all threads together. */
#define BLOCKS_MOST 16384
#define BLOCKS_LEAST 1024
#define BLOCKS_ALL (1u << 21)
#define TAIL_BYTES (256u << 10) /* of each stream, in which the last blocks are looked for first */

/* ---- threads ------------------------------------------------------------------------------------- */

static bool has_frame(const struct dump_crash_stack *stack, bool (*is)(const char *name))
{
	for (size_t i = 0; i < stack->count; i++)
		if (is(stack->frames[i].function))
			return true;
	return false;
}

/* Whether the thread's end may be the reason of the process's end. */
static bool may_be_fatal(const struct dump_crash *crash, const struct dump_crash_thread *thread)
{
	if (crash->failure.kind == DUMP_FAILURE_EXIT)
		return has_frame(&thread->stack, dump_crash_is_exit);
	if (has_frame(&thread->stack, dump_crash_sends_signal))
		return true;
	return thread->stop == DUMP_CRASH_STOP_BEFORE;
}

/* Finds the thread in which the process failed. Without an event about the signal, only a single candidate is certain. */
static void find_thread(struct dump_crash *crash)
{
	size_t candidates = 0;

	crash->thread = DUMP_CRASH_NO_INDEX;
	if (crash->failure.kind == DUMP_FAILURE_NONE || crash->failure.sent)
		return;
	for (size_t i = 0; crash->failure.fatal && i < crash->thread_count; i++)
		if (crash->threads[i].tid == crash->failure.fatal->tid)
			crash->thread = i;
	if (crash->failure.fatal)
		return;
	for (size_t i = 0; i < crash->thread_count; i++)
		if (may_be_fatal(crash, &crash->threads[i]) && !candidates++)
			crash->thread = i;
	if (candidates > 1)
		crash->thread = DUMP_CRASH_NO_INDEX;
	/* The only thread has no choice. */
	if (crash->thread_count == 1)
		crash->thread = 0;
}

/* ---- the way of the failure ---------------------------------------------------------------------- */

/* Whether the code at an address begins programs. */
static bool is_start(const struct dump_crash_report *report, uint32_t process, uint64_t time, uint64_t address)
{
	struct flow_place place;
	struct flow_symbol symbol;

	return address && process != FLOW_NONE &&
	       flow_timeline_find(report->timeline, process, time, address, &place) &&
	       flow_symbols_find(report->symbols, place.image, address, &symbol) && dump_crash_is_start(symbol.name);
}

/* Finds the last return of main. Returns the number of blocks up to the return; 0: main did not return. */
static size_t find_return(const struct dump_crash_report *report, const struct dump_crash_tail *tail)
{
	for (size_t i = tail->count; i-- > 0;) {
		const struct dump_crash_block *block = &tail->blocks[i];
		struct flow_symbol symbol;

		if (block->branch != FLOW_BRANCH_RETURN)
			continue;
		if (is_start(report, tail->process, tail->time, block->next) ||
		    (flow_symbols_find(report->symbols, block->image, block->last, &symbol) &&
		     !strcmp(symbol.name, "main")))
			return i + 1;
	}
	return 0;
}

/* Whether only functions that begin and end programs are on the stack: main returned. */
static bool is_behind_main(const struct dump_crash_stack *stack)
{
	return stack->place == DUMP_CRASH_NO_INDEX && has_frame(stack, dump_crash_is_start) &&
	       has_frame(stack, dump_crash_is_exit);
}

/* Whether a panic ended the process with its status. */
static bool is_panic(const struct dump_crash *crash)
{
	if (crash->failure.kind != DUMP_FAILURE_EXIT || crash->raised.place == DUMP_CRASH_NO_INDEX)
		return false;
	for (size_t i = 0; i < crash->raised.count; i++)
		if (dump_crash_raise_exits(crash->raised.frames[i].function, crash->failure.number))
			return true;
	return false;
}

static void find_way(struct dump_crash *crash)
{
	const struct dump_crash_thread *thread = &crash->threads[crash->thread];
	const bool exits = crash->failure.kind == DUMP_FAILURE_EXIT;

	if (is_panic(crash))
		crash->way = DUMP_CRASH_WAY_PANIC;
	else if (exits && is_behind_main(&thread->stack))
		crash->way = DUMP_CRASH_WAY_RETURN;
	else if (has_frame(&thread->stack, exits ? dump_crash_is_exit : dump_crash_sends_signal))
		crash->way = DUMP_CRASH_WAY_CALL;
	else if (!exits && thread->stop == DUMP_CRASH_STOP_BEFORE)
		crash->way = DUMP_CRASH_WAY_FAULT;
}

/* ---- executed lines ------------------------------------------------------------------------------ */

static bool is_fatal(const struct dump_crash *crash, const struct dump_crash_thread *thread)
{
	return crash->thread != DUMP_CRASH_NO_INDEX && thread == &crash->threads[crash->thread];
}

/*
 * Returns the number of blocks up to the place: without the functions that the place called, if those only end the
 * process.
 */
static size_t blocks_until(const struct dump_crash_report *report, const struct dump_crash *crash,
			   const struct dump_crash_thread *thread, const struct dump_crash_tail *tail)
{
	const bool fatal = is_fatal(crash, thread);
	const struct dump_crash_stack *stack = fatal ? dump_crash_stack(crash) : &thread->stack;
	uint64_t call;

	if (fatal && crash->way == DUMP_CRASH_WAY_RETURN)
		return find_return(report, tail);
	if (stack->place == DUMP_CRASH_NO_INDEX || stack->place == 0)
		return tail->count;
	call = stack->frames[stack->place].address;
	for (size_t i = tail->count; i-- > 0;)
		if (tail->blocks[i].last <= call && call < tail->blocks[i].end)
			return i + 1;
	return call ? 0 : tail->count;
}

/* Reads the blocks of the fatal thread up to the place: the process executed much code behind the place. */
static int read_thread(const struct dump_crash_report *report, const struct dump_crash *crash,
		       const struct dump_crash_thread *thread, struct dump_crash_tails *whole)
{
	const struct dump_crash_final *final = dump_crash_final_find(&report->finals, crash->failure.pid, thread->tid);
	struct flow_view_options options = dump_run_view_options(report->run);

	whole->blocks_max = BLOCKS_MOST;
	whole->left_out = report->runtime_images;
	options.selection.pids = &crash->failure.pid;
	options.selection.pid_count = 1;
	options.selection.tids = &thread->tid;
	options.selection.tid_count = 1;
	if (crash->way == DUMP_CRASH_WAY_PANIC && final)
		options.selection.last_time = final->raised_time;
	return dump_crash_tails_read(whole, report->run->trace, report->timeline, &options, 0);
}

static int make_thread_steps(struct dump_crash_report *report, struct dump_crash *crash,
			     struct dump_crash_thread *thread)
{
	const struct dump_crash_tail *tail = dump_crash_tail_find(&report->tails, crash->failure.pid, thread->tid);
	struct dump_crash_frame frames[DUMP_CRASH_INLINED];
	struct dump_crash_tails whole = {0};
	size_t blocks = tail ? blocks_until(report, crash, thread, tail) : 0;
	int status = 0, count = 0;

	if (!blocks && tail && is_fatal(crash, thread)) {
		status = read_thread(report, crash, thread, &whole);
		tail = dump_crash_tail_find(&whole, crash->failure.pid, thread->tid);
		blocks = status == 0 && tail ? blocks_until(report, crash, thread, tail) : 0;
	}
	if (status == 0 && blocks && is_fatal(crash, thread) && crash->way == DUMP_CRASH_WAY_RETURN) {
		count = dump_crash_describe(report, tail->blocks[blocks - 1].image, tail->blocks[blocks - 1].last,
					    frames);
		status = count < 0 ? count : 0;
		if (count > 0)
			crash->last = frames[count - 1];
	}
	/* Without the place among the blocks, later lines would mislead. */
	if (status == 0 && blocks)
		status = dump_crash_steps_make(report, tail, blocks, thread);
	dump_crash_tails_free(&whole);
	return status;
}

/* ---- processes ----------------------------------------------------------------------------------- */

static int make_thread(struct dump_crash_report *report, const struct dump_crash_tail *tail,
		       struct dump_crash_thread *thread)
{
	const struct dump_crash_final *final = dump_crash_final_find(&report->finals, tail->pid, tail->tid);

	*thread = (struct dump_crash_thread){.tid = tail->tid, .stop = tail->stop, .time = tail->time, .name = ""};
	if (tail->thread != FLOW_NONE)
		thread->name = flow_timeline_thread(report->timeline, tail->thread)->name;
	if (!final || !tail->last)
		return 0;
	return dump_crash_stack_make(report, &final->end, tail->process,
				     tail->stop == DUMP_CRASH_STOP_BEFORE ? tail->stop_at : tail->last, &thread->stack);
}

/*
 * Whether the thread had ended by itself before the process ended: only code that begins and ends threads is on the
 * stack.
 */
static bool ended_before(const struct dump_crash_report *report, const struct dump_crash_tail *tail,
			 const struct dump_crash_thread *thread)
{
	const struct flow_timeline_thread *data = tail->thread == FLOW_NONE
							  ? NULL
							  : flow_timeline_thread(report->timeline, tail->thread);

	return data && data->ended && data->end < flow_timeline_process(report->timeline, tail->process)->end &&
	       thread->stop == DUMP_CRASH_STOP_CALL && thread->stack.place == DUMP_CRASH_NO_INDEX;
}

static int make_threads(struct dump_crash_report *report, struct dump_crash *crash)
{
	int status = 0;

	crash->threads = common_arena_zeroed(&report->arena, (report->tails.count + 1) * sizeof(*crash->threads));
	if (!crash->threads)
		return common_fail_memory("threads", report->tails.count);
	for (size_t i = 0; status == 0 && i < report->tails.count; i++) {
		const struct dump_crash_tail *tail = &report->tails.list[i];

		if (tail->process != crash->failure.process)
			continue;
		status = make_thread(report, tail, &crash->threads[crash->thread_count]);
		if (!ended_before(report, tail, &crash->threads[crash->thread_count]))
			crash->thread_count++;
	}
	return status;
}

static int make_raised(struct dump_crash_report *report, struct dump_crash *crash)
{
	const struct dump_crash_final *final = dump_crash_final_find(&report->finals, crash->failure.pid,
								     crash->threads[crash->thread].tid);
	const struct dump_crash_stack *stack = &crash->threads[crash->thread].stack;
	const struct analysis_frame *top;
	int status;

	if (!final || !final->raised.count)
		return 0;
	top = &final->raised.list[final->raised.count - 1];
	status = dump_crash_stack_make(report, &final->raised, crash->failure.process, top->entry, &crash->raised);
	/* The stack at the end says the same if nothing caught the exception. */
	for (size_t i = 0; status == 0 && i < stack->count && crash->raised.count; i++)
		if (!strcmp(stack->frames[i].function, crash->raised.frames[0].function))
			crash->raised.count = 0;
	return status;
}

static int make_steps(struct dump_crash_report *report, struct dump_crash *crash)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < crash->thread_count; i++)
		status = make_thread_steps(report, crash, &crash->threads[i]);
	return status;
}

static int make_crash(struct dump_crash_report *report, const struct dump_failure *failure, struct dump_crash *crash)
{
	int status;

	*crash = (struct dump_crash){.failure = *failure, .thread = DUMP_CRASH_NO_INDEX};
	status = make_threads(report, crash);
	if (status == 0)
		find_thread(crash);
	if (status == 0 && crash->thread != DUMP_CRASH_NO_INDEX)
		status = make_raised(report, crash);
	if (status == 0 && crash->thread != DUMP_CRASH_NO_INDEX)
		find_way(crash);
	return status == 0 ? make_steps(report, crash) : status;
}

/* ---- the report ---------------------------------------------------------------------------------- */

/* Returns the number of processes to decode. Only flow tells which running processes are of interest. */
static size_t processes_of(const struct dump_crash_report *report)
{
	const size_t count = report->failures.count;

	return report->running || count < report->limits.processes ? count : report->limits.processes;
}

static int choose_pids(const struct dump_crash_report *report, struct common_id_set *pids)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < processes_of(report); i++)
		if (!pids->count || !common_id_set_has(pids, report->failures.list[i].pid))
			status = common_id_set_add(pids, report->failures.list[i].pid);
	return status;
}

static size_t threads_of(const struct dump_crash_report *report)
{
	size_t threads = 0;

	for (size_t i = 0; i < processes_of(report); i++)
		threads += flow_timeline_process(report->timeline, report->failures.list[i].process)->thread_count;
	return threads;
}

/* Marks the images of the C library and the like. */
static bool *runtime_images(const struct flow_timeline *timeline)
{
	const size_t count = flow_timeline_image_count(timeline);
	bool *runtime = calloc(count + 1, sizeof(*runtime));

	for (size_t i = 0; runtime && i < count; i++)
		runtime[i] = dump_crash_is_runtime("",
						   common_base_name(flow_timeline_image(timeline, i)->data.file_name));
	return runtime;
}

static bool has_missing_tail(const struct dump_crash_report *report)
{
	for (size_t i = 0; i < report->finals.count; i++)
		if (!dump_crash_tail_find(&report->tails, report->finals.list[i].pid, report->finals.list[i].tid))
			return true;
	return false;
}

static int decode(struct dump_crash_report *report, const struct common_id_set *pids)
{
	struct flow_view_options options = dump_run_view_options(report->run);
	struct analysis_call_observer observer = dump_crash_finals_observer;
	const size_t blocks = BLOCKS_ALL / (threads_of(report) + 1);
	int status = 0;

	options.selection.pids = pids->ids;
	options.selection.pid_count = pids->count;
	report->tails.blocks_max = blocks > BLOCKS_MOST ? BLOCKS_MOST : blocks < BLOCKS_LEAST ? BLOCKS_LEAST : blocks;
	report->finals.functions = report->functions;
	observer.context = &report->finals;
	report->runtime_images = runtime_images(report->timeline);
	if (!report->runtime_images)
		status = common_fail_memory("images", flow_timeline_image_count(report->timeline));
	report->tails.left_out = report->runtime_images;
	if (status == 0)
		status = analysis_calls_run(report->run->trace, report->timeline, &options, report->functions,
					    &observer);
	if (status == 0)
		status = dump_crash_tails_read(&report->tails, report->run->trace, report->timeline, &options,
					       TAIL_BYTES);
	/* Of a CPU's stream, the end may belong to other threads. */
	if (status == 0 && has_missing_tail(report))
		status = dump_crash_tails_read(&report->tails, report->run->trace, report->timeline, &options, 0);
	common_progress_end();
	return status;
}

/* A trace may list all processes of a machine: running processes without flow are of no interest. */
static void drop_idle(struct dump_crash_report *report)
{
	size_t kept = 0;

	if (!report->running)
		return;
	for (size_t i = 0; i < report->count; i++)
		if (report->list[i].thread_count)
			report->list[kept++] = report->list[i];
	for (size_t i = 0; i < kept; i++)
		report->failures.list[i] = report->list[i].failure;
	report->failures.count = kept;
	report->count = kept < report->limits.processes ? kept : report->limits.processes;
}

static int report_make_list(struct dump_crash_report *report)
{
	const size_t count = processes_of(report);
	struct common_id_set pids = {0};
	int status = choose_pids(report, &pids);

	report->list = common_arena_zeroed(&report->arena, (count + 1) * sizeof(*report->list));
	if (!report->list)
		status = common_fail_memory("processes", count);
	if (status == 0 && count)
		status = flow_sources_open(report->run->trace, report->timeline, &report->sources);
	if (status == 0 && count)
		flow_sources_want_scopes(report->sources);
	if (status == 0 && count)
		status = decode(report, &pids);
	for (size_t i = 0; status == 0 && i < count; i++, report->count += status == 0)
		status = make_crash(report, &report->failures.list[i], &report->list[i]);
	common_id_set_free(&pids);
	drop_idle(report);
	return status == 0 && report->limits.events ? dump_crash_events_read(report) : status;
}

int dump_crash_report_make(struct dump_crash_report *report)
{
	int status = dump_failures_find(&report->failures, report->run, report->timeline);

	dump_source_texts_start(&report->texts, report->run);
	if (status == 0 && !report->failures.count && !report->failed_only) {
		report->running = true;
		dump_failures_free(&report->failures);
		status = dump_failures_find_running(&report->failures, report->run, report->timeline);
	}
	return status == 0 ? report_make_list(report) : status;
}

void dump_crash_report_free(struct dump_crash_report *report)
{
	dump_failures_free(&report->failures);
	dump_crash_tails_free(&report->tails);
	free(report->runtime_images);
	dump_crash_finals_free(&report->finals);
	flow_sources_close(report->sources);
	dump_source_texts_free(&report->texts);
	common_arena_free(&report->arena);
}
