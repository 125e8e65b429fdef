/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of monitor commands, and the commands about windows and gaps. */
#include "dump/gdb/monitor.h"

#include <inttypes.h>
#include <stdio.h>
#include <signal.h>
#include <string.h>

#include "common/error.h"
#include "common/plural.h"
#include "common/program/selection.h"
#include "common/text/text.h"
#include "dump/gdb/monitor_events.h"
#include "flow/engine/flow.h"

#define GAPS_MAX 200 /* gaps in one answer */

/* ---- where --------------------------------------------------------------------------------------- */

static void add_time(const struct dump_gdb_process *process, uint64_t time, struct ptl_bytes *text)
{
	const uint64_t start = ptl_trace_machine(process->run->trace)->start_time;

	if (time)
		common_text_milliseconds(text, time, start);
	else
		common_text_add(text, "-");
	common_text_add(text, " ms");
}

static void add_name(const struct dump_gdb_thread *thread, struct ptl_bytes *text)
{
	common_text_format(text, "thread %" PRIu32, thread->tid);
	if (thread->name && *thread->name) {
		common_text_add(text, " ");
		common_text_safe(text, thread->name);
	}
}

/* "thread 4711 worker: 1.5 ms to 9.2 ms, instructions 1,001 to 2,000 of 2,000, stopped by SIGSEGV" */
static void add_window(const struct dump_gdb_process *process, const struct dump_gdb_thread *thread,
		       struct ptl_bytes *text)
{
	add_name(thread, text);
	common_text_add(text, ": ");
	if (!thread->count) {
		common_text_add(text, "no instructions\n");
		return;
	}
	add_time(process, thread->blocks[0].time, text);
	common_text_add(text, " to ");
	add_time(process, thread->blocks[thread->count - 1].time, text);
	common_text_add(text, ", instructions ");
	common_text_count(text, thread->before + 1);
	common_text_add(text, " to ");
	common_text_count(text, thread->before + thread->instructions);
	common_text_add(text, " of ");
	common_text_count(text, thread->before + thread->instructions + thread->after);
	if (thread->signal && sigabbrev_np(thread->signal)) {
		common_text_format(text, ", stopped by SIG%s", sigabbrev_np(thread->signal));
		if (thread->fatal.has_address)
			common_text_format(text, " at 0x%" PRIx64, thread->fatal.address);
		/* The trace has the signal that ended the process, and not the thread. */
		if (process->model.threads_in_question > 1)
			common_text_format(text, " (the first of %zu threads that stopped then)",
					   process->model.threads_in_question);
	}
	common_text_add(text, "\n");
}

/* Finds the block of gdb's instruction number, from 1; a gap has a number, too. NULL: no such instruction. */
static const struct dump_gdb_block *find_instruction(const struct dump_gdb_thread *thread, uint64_t number,
						     uint64_t *executed)
{
	*executed = thread->before;
	for (size_t i = 0; i < thread->count; i++) {
		const struct dump_gdb_block *block = &thread->blocks[i];
		const uint64_t numbers = dump_gdb_block_numbers(block);

		if (number <= numbers) {
			*executed += block->instructions ? number : 0;
			return block;
		}
		number -= numbers;
		*executed += block->instructions;
	}
	return NULL;
}

static const struct dump_gdb_thread *find_thread(const struct dump_gdb_process *process, uint64_t tid)
{
	for (size_t i = 0; i < process->model.thread_count; i++)
		if (process->model.threads[i].tid == tid)
			return &process->model.threads[i];
	return NULL;
}

static void add_instruction(struct dump_gdb_process *process, uint64_t tid, uint64_t number, struct ptl_bytes *text)
{
	const struct dump_gdb_thread *thread = find_thread(process, tid);
	uint64_t executed = 0;
	const struct dump_gdb_block *block = thread ? find_instruction(thread, number, &executed) : NULL;

	if (!thread) {
		common_text_format(text, "no thread %" PRIu64 "\n", tid);
		return;
	}
	/* The last number is the next instruction. */
	if (!block && thread->count)
		block = &thread->blocks[thread->count - 1];
	add_name(thread, text);
	common_text_add(text, ": ");
	add_time(process, block ? block->time : 0, text);
	common_text_add(text, ", instruction ");
	common_text_count(text, executed);
	if (block && !block->instructions)
		common_text_format(text, ", behind a gap: %s", flow_gap_cause_name((uint8_t)block->cause));
	common_text_add(text, "\n");
	if (block)
		dump_gdb_monitor_near(process, tid, block->time, text);
}

static void monitor_where(struct dump_gdb_process *process, const char *words, struct ptl_bytes *text)
{
	uint64_t tid, number;

	if (sscanf(words, "%20" SCNu64 " %20" SCNu64, &tid, &number) == 2) {
		add_instruction(process, tid, number, text);
		return;
	}
	for (size_t i = 0; i < process->model.thread_count; i++)
		add_window(process, &process->model.threads[i], text);
}

/* ---- moving the window --------------------------------------------------------------------------- */

static void monitor_move(struct dump_gdb_process *process, const struct dump_gdb_window *window, struct ptl_bytes *text)
{
	if (dump_gdb_process_move(process, window) < 0) {
		common_text_add(text, ptl_error_text());
		common_text_add(text, "\n");
		return;
	}
	monitor_where(process, "", text);
}

static void monitor_goto(struct dump_gdb_process *process, const char *words, struct ptl_bytes *text)
{
	const struct ptl_machine *machine = ptl_trace_machine(process->run->trace);
	struct common_time_span span = {0};
	struct ptl_bytes bound = {0};
	struct dump_gdb_window window = {.instructions = process->window.instructions};
	uint64_t first;

	common_text_add(&bound, "..");
	common_text_add(&bound, words);
	if (common_time_span_parse(common_text_string(&bound), &span) < 0 ||
	    common_time_span_resolve(&span, machine->start_time, machine->end_time, &first, &window.last_time) < 0) {
		common_text_add(text, "goto needs a time, such as 12.5ms; -1ms is before the end of the trace\n");
	} else {
		window.last_time = window.last_time == UINT64_MAX ? 0 : window.last_time;
		monitor_move(process, &window, text);
	}
	common_bytes_free(&bound);
}

static void monitor_from(struct dump_gdb_process *process, const char *words, struct ptl_bytes *text)
{
	const struct dump_gdb_window window = {.instructions = process->window.instructions};

	if (!*words)
		common_text_add(text, "from needs the name of a function\n");
	else if (dump_gdb_process_from(process, words, &window) < 0)
		common_text_format(text, "%s\n", ptl_error_text());
	else
		monitor_where(process, "", text);
}

/* The border of the current thread's window: the first or the last time. */
static uint64_t border_time(const struct dump_gdb_process *process, bool first)
{
	const struct dump_gdb_thread *thread = &process->model.threads[process->model.current];

	for (size_t i = 0; process->model.thread_count && i < thread->count; i++) {
		const uint64_t time = thread->blocks[first ? i : thread->count - 1 - i].time;

		if (time)
			return time;
	}
	return 0;
}

static void monitor_earlier(struct dump_gdb_process *process, const char *words, struct ptl_bytes *text)
{
	const struct dump_gdb_window window = {.last_time = border_time(process, true),
					       .instructions = process->window.instructions};

	(void)words;
	if (window.last_time && process->model.threads[process->model.current].before)
		monitor_move(process, &window, text);
	else
		common_text_add(text, "the window is at the beginning of the thread\n");
}

static void monitor_later(struct dump_gdb_process *process, const char *words, struct ptl_bytes *text)
{
	const struct dump_gdb_window window = {
		.first_time = border_time(process, false), .instructions = process->window.instructions, .first = true};

	(void)words;
	if (window.first_time && (process->window.last_time || process->window.first))
		monitor_move(process, &window, text);
	else
		common_text_add(text, "the window is at the end of the trace\n");
}

static void monitor_event(struct dump_gdb_process *process, const char *words, struct ptl_bytes *text)
{
	struct dump_gdb_window window = {.instructions = process->window.instructions};

	if (dump_gdb_monitor_find_event(process, words, &window.last_time, text))
		monitor_move(process, &window, text);
}

/* ---- gaps ---------------------------------------------------------------------------------------- */

static void monitor_gaps(struct dump_gdb_process *process, const char *words, struct ptl_bytes *text)
{
	size_t gaps = 0;

	(void)words;
	for (size_t i = 0; i < process->model.thread_count; i++) {
		const struct dump_gdb_thread *thread = &process->model.threads[i];
		uint64_t number = 1;

		for (size_t k = 0; k < thread->count; k++) {
			const struct dump_gdb_block *block = &thread->blocks[k];

			if (!block->instructions && gaps++ < GAPS_MAX) {
				add_name(thread, text);
				common_text_format(text, ": gdb's instruction %" PRIu64 ", ", number);
				add_time(process, block->time, text);
				common_text_format(text, ": %s\n", flow_gap_cause_name((uint8_t)block->cause));
			}
			number += dump_gdb_block_numbers(block);
		}
	}
	common_text_format(text, "%zu " COMMON_PLURAL("gap", "gaps") "\n", gaps);
}

/* ---- the table ----------------------------------------------------------------------------------- */

static void monitor_help(struct dump_gdb_process *process, const char *words, struct ptl_bytes *text);

static const struct {
	const char *name, *arguments, *help;
	void (*run)(struct dump_gdb_process *process, const char *words, struct ptl_bytes *text);
} commands[] = {
	{"where", "[TID NUMBER]", "the window of each thread; or the time of gdb's instruction NUMBER", monitor_where},
	{"goto", "TIME", "the window that ends at TIME: 12.5ms, -1ms before the end", monitor_goto},
	{"from", "FUNCTION", "the window that begins at the first call of FUNCTION, in each thread", monitor_from},
	{"earlier", "", "the window before this window", monitor_earlier},
	{"later", "", "the window behind this window", monitor_later},
	{"event", "NAME", "the window that ends at the last event of this name before the end of the window",
	 monitor_event},
	{"events", "[NAME]", "the events within the window, each with gdb's number of the next instruction",
	 dump_gdb_monitor_events},
	{"gaps", "", "the gaps of the window, with causes", monitor_gaps},
	{"help", "", "this list", monitor_help},
};

static void monitor_help(struct dump_gdb_process *process, const char *words, struct ptl_bytes *text)
{
	(void)process;
	(void)words;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		const size_t start = text->size;

		common_text_format(text, "monitor %s %s", commands[i].name, commands[i].arguments);
		common_text_pad(text, start, 30);
		common_text_add(text, commands[i].help);
		common_text_add(text, "\n");
	}
}

void dump_gdb_monitor(void *context, const char *command, struct ptl_bytes *text)
{
	const size_t size = strcspn(command, " ");
	const char *words = command + size + strspn(command + size, " ");

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strlen(commands[i].name) == size && strncmp(commands[i].name, command, size) == 0) {
			commands[i].run(context, words, text);
			return;
		}
	common_text_add(text, "no such command; the commands are:\n");
	monitor_help(context, "", text);
}
