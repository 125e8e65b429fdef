/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The threads view: a row for all processes, a row for each process, and rows for threads of processes with several
 * threads.
 */
#include <stdlib.h>

#include "common/error.h"
#include "common/text/text.h"
#include "common/vector.h"
#include "dump/browse/browser.h"

static bool add_choice(struct dump_browser *browser, uint32_t process, uint32_t thread)
{
	if (!common_vector_room(&browser->choices, browser->choice_count, sizeof(*browser->choices)))
		return false;
	browser->choices[browser->choice_count++] = (struct dump_browse_selection){process, thread};
	return true;
}

static bool is_wanted_process(const struct dump_browser *browser, const struct flow_timeline_process *process)
{
	return common_id_set_has(&browser->pids, process->pid);
}

/* Creates the rows on first use. */
static void make_choices(struct dump_browser *browser)
{
	const struct flow_timeline *timeline = browser->calls_input.timeline;
	const size_t count = flow_timeline_process_count(timeline);
	bool room = browser->choice_count || add_choice(browser, FLOW_NONE, FLOW_NONE);

	if (browser->choice_count > 1)
		return;
	for (size_t i = 0; room && i < count; i++) {
		const struct flow_timeline_process *process = flow_timeline_process(timeline, i);

		if (!is_wanted_process(browser, process))
			continue;
		room = add_choice(browser, (uint32_t)i, FLOW_NONE);
		for (size_t k = 0; room && process->thread_count > 1 && k < process->thread_count; k++)
			if (common_id_set_has(&browser->tids, flow_timeline_thread(timeline, process->threads[k])->tid))
				room = add_choice(browser, (uint32_t)i, process->threads[k]);
	}
}

static bool first(struct dump_browser *browser, uint64_t *row)
{
	make_choices(browser);
	*row = 0;
	return browser->choice_count;
}

static bool threads_view_next(struct dump_browser *browser, uint64_t *row)
{
	return dump_browse_next_number(browser->choice_count, row);
}

static bool previous(struct dump_browser *browser, uint64_t *row)
{
	(void)browser;
	return dump_browse_previous_number(row);
}

static void columns(struct dump_browser *browser, struct ptl_bytes *text)
{
	(void)browser;
	common_text_add(text, "     start ms      pid      tid  name");
}

static void show_row(struct dump_browser *browser, uint64_t row, struct ptl_bytes *text, enum dump_browse_style *style)
{
	const struct flow_timeline *timeline = browser->calls_input.timeline;
	const struct dump_browse_selection *choice = &browser->choices[row];
	const uint64_t start = ptl_trace_machine(browser->run->trace)->start_time;
	const struct flow_timeline_process *process;

	if (choice->process == FLOW_NONE) {
		*style = DUMP_BROWSE_BOLD;
		common_text_add(text, "                                all processes and threads");
		return;
	}
	process = flow_timeline_process(timeline, choice->process);
	if (choice->thread == FLOW_NONE) {
		*style = DUMP_BROWSE_BOLD;
		common_text_time(text, process->started ? process->start : 0, start);
		common_text_format(text, " %8u           ", process->pid);
		common_text_safe(text, *process->name ? process->name : "process");
		if (process->program_count) {
			common_text_add(text, "   ");
			common_text_safe(text, process->programs[process->program_count - 1].command_line);
		}
	} else {
		const struct flow_timeline_thread *thread = flow_timeline_thread(timeline, choice->thread);

		common_text_time(text, thread->started ? thread->start : 0, start);
		common_text_format(text, " %8s %8u    ", "", thread->tid);
		common_text_safe(text, thread->name);
	}
}

static uint32_t function_of(struct dump_browser *browser, uint64_t row)
{
	(void)browser;
	(void)row;
	return ANALYSIS_NO_FUNCTION;
}

/* The threads view has no functions to search. */
static bool threads_view_search(struct dump_browser *browser, bool back, uint64_t *row)
{
	(void)browser;
	(void)back;
	(void)row;
	return false;
}

static int key(struct dump_browser *browser, int key)
{
	if (key == DUMP_BROWSE_ENTER || key == DUMP_BROWSE_RIGHT)
		return dump_browse_open(browser, DUMP_BROWSE_CALLS);
	return 0;
}

const struct dump_browse_view dump_browse_threads_view = {
	.name = "processes and threads",
	.keys = "Enter calls   r report",
	.first = first,
	.next = threads_view_next,
	.previous = previous,
	.columns = columns,
	.row = show_row,
	.function = function_of,
	.search = threads_view_search,
	.key = key,
};
