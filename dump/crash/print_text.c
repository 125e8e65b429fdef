/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints failures as text. */
#include <inttypes.h>
#include <string.h>

#include "analysis/call/call_mark.h"
#include "common/error.h"
#include "common/plural.h"
#include "common/text/quote.h"
#include "common/text/text.h"
#include "dump/crash/print.h"
#include "dump/print/table.h"

#define FRAMES_INNER 24 /* frames of a stack that are shown: the innermost, and the outermost */
#define FRAMES_OUTER 6
#define THREADS_SHOWN 32 /* other threads in a process's list */

struct crash_page {
	const struct dump_crash_report *report;
	struct dump_run *run;
	struct ptl_bytes line;
};

/* Writes page->line, and empties page->line. */
static void put_line(struct crash_page *page)
{
	common_text_add(&page->line, "\n");
	common_text_write(&page->line, page->run->out);
	page->line.size = 0;
}

static void put_title(const struct crash_page *page, const char *words)
{
	fprintf(page->run->out, "\n%s%s%s\n", dump_bold(page->run), words, dump_plain(page->run));
}

/* ---- stacks -------------------------------------------------------------------------------------- */

static void add_place(struct ptl_bytes *text, const char *file, uint32_t line, const char *image, uint64_t address)
{
	if (file) {
		common_text_safe(text, file);
		common_text_format(text, ":%" PRIu32, line);
	} else if (*image) {
		common_text_safe(text, image);
		if (address)
			common_text_format(text, "  0x%" PRIx64, address);
	} else if (address) {
		common_text_format(text, "0x%" PRIx64, address);
	}
}

static void put_frame(struct crash_page *page, const struct dump_crash_stack *stack, size_t i)
{
	const struct dump_crash_frame *frame = &stack->frames[i];
	struct ptl_bytes *text = &page->line;
	size_t start;

	common_text_add(text, i == stack->place ? "> " : "  ");
	common_text_format(text, "#%-3zu ", i < stack->missing_at || !stack->missing ? i : i + stack->missing);
	start = text->size;
	if (page->run->shortens_names)
		dump_crash_short_name(*frame->function ? frame->function : "[unknown]", text);
	else
		common_text_safe(text, *frame->function ? frame->function : "[unknown]");
	common_text_pad(text, start, 32);
	common_text_add(text, "  ");
	add_place(text, frame->file, frame->line, frame->image, frame->address);
	common_text_add(text, frame->inlined ? "  inlined" : "");
	common_text_add(text, frame->unmapped ? "  unmapped" : "");
	if (frame->flags) {
		common_text_add(text, "  ");
		analysis_call_marks_text(frame->flags, ", ", text);
	}
	put_line(page);
}

static void put_stack(struct crash_page *page, const struct dump_crash_stack *stack)
{
	const bool cut = stack->count > FRAMES_INNER + FRAMES_OUTER;

	for (size_t i = 0; i < stack->count; i++) {
		if (cut && i == FRAMES_INNER) {
			common_text_add(&page->line, "       ... ");
			common_text_count(&page->line, stack->count - FRAMES_INNER - FRAMES_OUTER + stack->missing);
			common_text_add(&page->line, " more");
			put_line(page);
			i = stack->count - FRAMES_OUTER;
		}
		put_frame(page, stack, i);
	}
}

/* ---- lines and events ---------------------------------------------------------------------------- */

static void put_steps(struct crash_page *page, const struct dump_crash_thread *thread)
{
	struct ptl_bytes *text = &page->line;

	for (size_t i = 0; i < thread->step_count; i++) {
		const struct dump_crash_step *step = &thread->steps[i];
		size_t start;

		if (step->after_gap) {
			common_text_add(text, "  ... flow is missing");
			put_line(page);
		}
		common_text_add(text, "  ");
		start = text->size;
		dump_crash_short_name(*step->function ? step->function : "[unknown]", text);
		common_text_pad(text, start, 24);
		common_text_add(text, "  ");
		start = text->size;
		add_place(text, step->file ? common_base_name(step->file) : NULL, step->line, step->image,
			  step->address);
		if (step->words) {
			common_text_pad(text, start, 20);
			common_text_add(text, "  ");
			common_text_safe(text, step->words);
		}
		put_line(page);
	}
}

static void put_events(struct crash_page *page, const struct dump_crash_thread *thread)
{
	for (size_t i = 0; i < thread->event_count; i++) {
		common_text_add(&page->line, thread->events[i]);
		put_line(page);
	}
}

static void put_thread(struct crash_page *page, const struct dump_crash_thread *thread)
{
	put_title(page, "stack");
	put_stack(page, &thread->stack);
	if (thread->step_count) {
		put_title(page, thread->steps[0].file ? "last lines, the latest at the end"
						      : "last functions, the latest at the end (no source lines)");
		put_steps(page, thread);
	}
	if (thread->gap) {
		common_text_add(&page->line, "  ... flow is missing");
		put_line(page);
	}
	if (thread->event_count) {
		put_title(page, "last events of the thread");
		put_events(page, thread);
	}
}

/* ---- processes ----------------------------------------------------------------------------------- */

static void put_process(struct crash_page *page, const struct dump_crash *crash)
{
	const struct dump_crash_report *report = page->report;
	const struct flow_timeline_process *process = flow_timeline_process(report->timeline, crash->failure.process);
	struct ptl_bytes *text = &page->line;
	const uint64_t end = crash->thread != DUMP_CRASH_NO_INDEX ? crash->threads[crash->thread].time
			     : process->ended                     ? process->end
								  : 0;

	common_text_format(text, "  pid %" PRIu32, crash->failure.pid);
	if (end) {
		common_text_add(text, ", at ");
		common_text_milliseconds(text, end, ptl_trace_machine(page->run->trace)->start_time);
		common_text_add(text, " ms");
	}
	common_text_add(text, crash->failure.core ? ", core dumped" : "");
	if (process->program_count && *process->programs[process->program_count - 1].command_line) {
		common_text_add(text, ": ");
		common_text_safe(text, process->programs[process->program_count - 1].command_line);
	}
	put_line(page);
}

static void put_raised(struct crash_page *page, const struct dump_crash *crash)
{
	if (!crash->raised.count)
		return;
	put_title(page, crash->way == DUMP_CRASH_WAY_PANIC ? "stack at the panic"
							   : "stack at the last exception that the thread raised");
	put_stack(page, &crash->raised);
}

/* The threads except the one with the failure. */
static void put_others(struct crash_page *page, const struct dump_crash *crash)
{
	const bool known = crash->thread != DUMP_CRASH_NO_INDEX;
	size_t shown = 0;

	if (crash->thread_count < (known ? 2u : 1u))
		return;
	put_title(page, known ? "other threads" : "threads at the end");
	for (size_t i = 0; i < crash->thread_count; i++) {
		if (i == crash->thread || shown++ >= THREADS_SHOWN)
			continue;
		common_text_add(&page->line, "  ");
		dump_crash_thread_sentence(&crash->threads[i], &page->line);
		put_line(page);
	}
	if (shown > THREADS_SHOWN) {
		common_text_format(&page->line, "  ... %zu more", shown - THREADS_SHOWN);
		put_line(page);
	}
}

static void put_all_threads(struct crash_page *page, const struct dump_crash *crash)
{
	for (size_t i = 0; i < crash->thread_count && i < THREADS_SHOWN; i++) {
		fputs("\n", page->run->out);
		dump_crash_thread_sentence(&crash->threads[i], &page->line);
		put_line(page);
		put_thread(page, &crash->threads[i]);
	}
	if (crash->thread_count > THREADS_SHOWN) {
		common_text_format(&page->line, "\n... %zu more " COMMON_PLURAL("thread", "threads") "; --json has all",
				   crash->thread_count - THREADS_SHOWN);
		put_line(page);
	}
}

static void put_command(struct crash_page *page, const char *command, uint32_t pid, const char *more)
{
	common_text_format(&page->line, "  ptl-dump %s --pid %" PRIu32 "%s ", command, pid, more);
	common_quote_word(&page->line, page->run->path);
	put_line(page);
}

static void put_next(struct crash_page *page, const struct dump_crash *crash)
{
	if (!crash->thread_count)
		return;
	put_title(page, "next");
	put_command(page, "gdb", crash->failure.pid, "");
	put_command(page, "calls", crash->failure.pid, " --tail 40");
	put_command(page, "events", crash->failure.pid, "");
}

static bool shows_all_threads(const struct dump_crash *crash)
{
	return crash->failure.kind == DUMP_FAILURE_NONE || crash->failure.sent || crash->thread == DUMP_CRASH_NO_INDEX;
}

static void put_crash(struct crash_page *page, const struct dump_crash *crash)
{
	put_process(page, crash);
	if (shows_all_threads(crash)) {
		put_others(page, &(struct dump_crash){
					 .thread = DUMP_CRASH_NO_INDEX,
					 .threads = crash->threads,
					 .thread_count = crash->thread_count,
				 });
		put_all_threads(page, crash);
	} else {
		if (crash->way == DUMP_CRASH_WAY_PANIC)
			put_raised(page, crash);
		put_thread(page, &crash->threads[crash->thread]);
		if (crash->way != DUMP_CRASH_WAY_PANIC)
			put_raised(page, crash);
		put_others(page, crash);
	}
	put_next(page, crash);
}

/* Prints the sentences of all failures first: the answer. */
static void put_sentences(struct crash_page *page)
{
	const struct dump_crash_report *report = page->report;

	for (size_t i = 0; i < report->failures.count; i++) {
		if (i < report->count)
			dump_crash_sentence(report, &report->list[i], &page->line);
		else {
			dump_failure_sentence(&report->failures.list[i], report->timeline, &page->line);
		}
		put_line(page);
	}
}

int dump_crash_text(const struct dump_crash_report *report)
{
	struct crash_page page = {.report = report, .run = report->run};
	int status = 0;

	if (report->running)
		fputs("no process failed\n", page.run->out);
	put_sentences(&page);
	for (size_t i = 0; status == 0 && i < report->count; i++) {
		if (report->failures.count > 1) {
			dump_crash_sentence(report, &report->list[i], &page.line);
			put_title(&page, common_text_string(&page.line));
			page.line.size = 0;
		}
		put_crash(&page, &report->list[i]);
		status = dump_output_check(page.run);
	}
	dump_source_texts_warn(&report->texts);
	if (page.line.failed && status == 0)
		status = common_fail_memory("lines", page.line.size);
	common_bytes_free(&page.line);
	return status;
}
