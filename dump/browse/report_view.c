/* SPDX-License-Identifier: BSD-2-Clause */
/* The report view: a row for each function of the selection. */
#include <stdlib.h>

#include "analysis/call/call_latency.h"
#include "common/error.h"
#include "common/text/text.h"
#include "dump/browse/browser.h"

#define DURATION_WIDTH 11
#define COUNT_WIDTH 17

static bool first(struct dump_browser *browser, uint64_t *row)
{
	*row = 0;
	return browser->report.count;
}

static bool report_view_next(struct dump_browser *browser, uint64_t *row)
{
	return dump_browse_next_number(browser->report.count, row);
}

static bool previous(struct dump_browser *browser, uint64_t *row)
{
	(void)browser;
	return dump_browse_previous_number(row);
}

static void columns(struct dump_browser *browser, struct ptl_bytes *text)
{
	common_text_add(text, "        calls       total insns        self insns         ");
	if (browser->report.timed)
		common_text_add(text, " total time   self time");
	common_text_format(text, "  function   (order: %s)", analysis_report_orders[browser->order]);
}

/* Right-aligns the text after `start` in a column of `width`. */
static void align(struct ptl_bytes *text, size_t start, size_t width)
{
	const size_t size = text->size - start;

	if (size >= width || text->failed)
		return;
	common_text_pad(text, text->size, width - size);
	if (text->failed)
		return;
	for (size_t i = size; i-- > 0;)
		text->data[start + width - size + i] = text->data[start + i];
	for (size_t i = 0; i < width - size; i++)
		text->data[start + i] = ' ';
}

static void add_count(struct ptl_bytes *text, uint64_t value, size_t width)
{
	const size_t start = text->size;

	common_text_count(text, value);
	align(text, start, width);
}

static void add_duration(struct ptl_bytes *text, uint64_t value)
{
	const size_t start = text->size;

	common_text_duration(text, value);
	align(text, start, DURATION_WIDTH);
}

static void show_row(struct dump_browser *browser, uint64_t number, struct ptl_bytes *text,
		     enum dump_browse_style *style)
{
	const struct analysis_report *report = &browser->report;
	const struct analysis_report_row *row = &report->rows[number];
	const struct analysis_function *function = analysis_function(browser->calls_input.functions, row->function);
	size_t start;

	(void)style;
	add_count(text, row->calls, 13);
	add_count(text, row->total_instructions, COUNT_WIDTH + 1);
	add_count(text, row->self_instructions, COUNT_WIDTH + 1);
	start = text->size;
	common_text_share(text, row->self_instructions, report->sum.self_instructions);
	align(text, start, 9);
	if (report->timed) {
		add_duration(text, row->total_time);
		common_text_add(text, " ");
		add_duration(text, row->self_time);
	}
	common_text_add(text, "  ");
	analysis_function_text(function, text);
	common_text_add(text, "  (");
	common_text_safe(text, function->image);
	common_text_add(text, ")");
}

static uint32_t function_of(struct dump_browser *browser, uint64_t row)
{
	return row < browser->report.count ? browser->report.rows[row].function : ANALYSIS_NO_FUNCTION;
}

static bool report_view_search(struct dump_browser *browser, bool back, uint64_t *row)
{
	while (back ? previous(browser, row) : report_view_next(browser, row))
		if (dump_browse_finds(browser, browser->report.rows[*row].function))
			return true;
	return false;
}

static int read_report(struct dump_browser *browser)
{
	struct analysis_call_observer observer;
	int status;

	analysis_report_free(&browser->report);
	browser->report = (struct analysis_report){.by = ANALYSIS_REPORT_FUNCTION, .calls = &browser->calls_input};
	observer = analysis_report_observer_of(&browser->report);
	status = dump_browse_decode(browser, &observer);
	if (status == 0)
		analysis_report_sort(&browser->report, browser->order);
	return status;
}

static void change_order(struct dump_browser *browser)
{
	if (!analysis_report_orders[++browser->order])
		browser->order = 0;
	analysis_report_sort(&browser->report, browser->order);
	browser->positions[DUMP_BROWSE_REPORT] = (struct dump_browse_position){0, 0};
}

static int key(struct dump_browser *browser, int key)
{
	if (key == 'o')
		change_order(browser);
	if ((key == DUMP_BROWSE_ENTER || key == DUMP_BROWSE_RIGHT) && browser->report.count)
		return dump_browse_go_to_slowest(browser,
						 function_of(browser, browser->positions[DUMP_BROWSE_REPORT].cursor));
	return 0;
}

const struct dump_browse_view dump_browse_report_view = {
	.name = "report",
	.keys = "Enter slowest call   o order   c calls   t threads",
	.read = read_report,
	.first = first,
	.next = report_view_next,
	.previous = previous,
	.columns = columns,
	.row = show_row,
	.function = function_of,
	.search = report_view_search,
	.key = key,
};
