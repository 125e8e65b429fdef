/* SPDX-License-Identifier: BSD-2-Clause */
/* The frame around the views: shared functions, shared keys, and the main loop. */
#include "dump/browse/browser.h"

#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/call/call_selection.h"
#include "analysis/function/source_note.h"
#include "common/error.h"
#include "common/text/text.h"

static const struct dump_browse_view *const views[] = {
	[DUMP_BROWSE_THREADS] = &dump_browse_threads_view,
	[DUMP_BROWSE_REPORT] = &dump_browse_report_view,
	[DUMP_BROWSE_CALLS] = &dump_browse_calls_view,
};

#define BARS 3 /* screen lines without rows: title, columns, and help on keys */

static const char *const help[] = {
	"",
	"  arrows, Page Up, Page Down, Home, End     move",
	"  Enter, Right                              open; in the report: go to the slowest call of the function",
	"  Left                                      close, or go to what this lies in",
	"  h                                         calls: open the costliest call in this one",
	"  t                                         processes and threads",
	"  r                                         report: what functions of the selection took",
	"  c                                         calls of the selection",
	"  o                                         report: another order",
	"  s                                         source lines, on and off",
	"  /                                         search a function: a part of its name, or a pattern with * and ?",
	"  n, N                                      the next one, the one before",
	"  q                                         back, and in the end out",
	"",
	"  A key goes on.",
};

/* ---- functions for views ------------------------------------------------------------------------- */

void dump_browse_say(struct dump_browser *browser, const char *format, ...)
{
	char words[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(words, sizeof(words), format, arguments);
	va_end(arguments);
	browser->message.size = 0;
	common_text_safe(&browser->message, words);
}

void dump_browse_say_now(struct dump_browser *browser, const char *words)
{
	(void)browser;
	dump_browse_screen_line(dump_browse_screen_height() - 1, DUMP_BROWSE_BAR, words);
	dump_browse_screen_show();
}

static bool has_selection(const struct dump_browser *browser, enum dump_browse_screenful view)
{
	const struct dump_browse_contents *contents = &browser->contents[view];

	return contents->present && contents->selection.process == browser->selection.process &&
	       contents->selection.thread == browser->selection.thread;
}

static int read_view(struct dump_browser *browser, enum dump_browse_screenful view)
{
	int status;

	browser->contents[view].present = false;
	browser->positions[view] = (struct dump_browse_position){0, 0};
	status = views[view]->read(browser);
	if (status == 0)
		browser->contents[view] = (struct dump_browse_contents){true, browser->selection};
	return status;
}

int dump_browse_open(struct dump_browser *browser, enum dump_browse_screenful view)
{
	int status = 0;

	if (browser->view == DUMP_BROWSE_THREADS && browser->choice_count)
		browser->selection = browser->choices[browser->positions[DUMP_BROWSE_THREADS].cursor];
	if (!has_selection(browser, view))
		status = read_view(browser, view);
	if (status < 0)
		return status;
	browser->view = view;
	if (!views[view]->first(browser, &(uint64_t){0}))
		dump_browse_say(browser, " no code was executed here");
	return 0;
}

bool dump_browse_next_number(uint64_t count, uint64_t *row)
{
	if (*row + 1 >= count)
		return false;
	++*row;
	return true;
}

bool dump_browse_previous_number(uint64_t *row)
{
	if (!*row)
		return false;
	--*row;
	return true;
}

void dump_browse_selection_text(struct dump_browser *browser, struct ptl_bytes *text)
{
	const struct flow_timeline *timeline = browser->calls_input.timeline;
	const struct dump_browse_selection *selection = &browser->selection;
	const struct flow_timeline_process *process;

	if (selection->process == FLOW_NONE) {
		common_text_add(text, "all");
		return;
	}
	process = flow_timeline_process(timeline, selection->process);
	common_text_safe(text, *process->name ? process->name : "process");
	common_text_format(text, " (%u)", process->pid);
	if (selection->thread != FLOW_NONE)
		common_text_format(text, " thread %u", flow_timeline_thread(timeline, selection->thread)->tid);
}

/* Replaces the contents of `copy` by the contents of `set`. */
static int copy_ids(struct common_id_set *copy, const struct common_id_set *set)
{
	int status = 0;

	common_id_set_free(copy);
	*copy = (struct common_id_set){0};
	for (size_t i = 0; status == 0 && i < set->count; i++)
		status = common_id_set_add(copy, set->ids[i]);
	return status;
}

static int choose_ids(struct dump_browser *browser)
{
	struct analysis_filter *filter = &browser->run->options->filter;
	const struct dump_browse_selection *selection = &browser->selection;
	const struct flow_timeline *timeline = browser->calls_input.timeline;
	int status = copy_ids(&filter->pids, &browser->pids);

	if (status == 0)
		status = copy_ids(&filter->tids, &browser->tids);
	if (status == 0 && selection->process != FLOW_NONE) {
		common_id_set_free(&filter->pids);
		filter->pids = (struct common_id_set){0};
		status = common_id_set_add(&filter->pids, flow_timeline_process(timeline, selection->process)->pid);
	}
	if (status == 0 && selection->thread != FLOW_NONE) {
		common_id_set_free(&filter->tids);
		filter->tids = (struct common_id_set){0};
		status = common_id_set_add(&filter->tids, flow_timeline_thread(timeline, selection->thread)->tid);
	}
	return status;
}

int dump_browse_decode(struct dump_browser *browser, const struct analysis_call_observer *observer)
{
	const int status = choose_ids(browser);

	dump_browse_say_now(browser, " decoding ... (Ctrl-C ends ptl-dump)");
	return status == 0 ? analysis_calls_observe(&browser->calls_input, observer) : status;
}

bool dump_browse_finds(struct dump_browser *browser, uint32_t function)
{
	const struct analysis_function *data = analysis_function(browser->calls_input.functions, function);
	const char *search = common_text_string(&browser->search);

	if (analysis_function_matches(data, search))
		return true;
	browser->text.size = 0;
	analysis_function_text(data, &browser->text);
	return strstr(common_text_string(&browser->text), search) != NULL;
}

/* ---- drawing ------------------------------------------------------------------------------------- */

static const struct dump_browse_view *view_of(const struct dump_browser *browser)
{
	return views[browser->view];
}

static int source_height(const struct dump_browser *browser)
{
	return browser->source ? (dump_browse_screen_height() - BARS) / 3 : 0;
}

static int row_height(const struct dump_browser *browser)
{
	const int height = dump_browse_screen_height() - BARS - source_height(browser);

	return height > 1 ? height : 1;
}

/* Scrolls so that the cursor is visible. */
static void follow_cursor(struct dump_browser *browser)
{
	const struct dump_browse_view *view = view_of(browser);
	struct dump_browse_position *position = &browser->positions[browser->view];
	const int height = row_height(browser);
	uint64_t row = position->top;

	for (int i = 0; i < height && position->top <= position->cursor; i++) {
		if (row == position->cursor)
			return;
		if (row > position->cursor || !view->next(browser, &row))
			break;
	}
	/*
	 * The cursor is not visible: scroll until the cursor's row is at the top, or at the bottom after moving down.
	 */
	row = position->cursor;
	for (int i = position->cursor > position->top ? height - 1 : 0; i > 0; i--)
		if (!view->previous(browser, &row))
			break;
	position->top = row;
}

static void draw_head(struct dump_browser *browser)
{
	struct ptl_bytes *text = &browser->text;

	text->size = 0;
	common_text_add(text, " ");
	common_text_safe(text, common_base_name(browser->run->path));
	common_text_format(text, "   %s", view_of(browser)->name);
	if (browser->view != DUMP_BROWSE_THREADS) {
		common_text_add(text, " of ");
		dump_browse_selection_text(browser, text);
	}
	dump_browse_screen_line(0, DUMP_BROWSE_BAR, common_text_string(text));
	text->size = 0;
	view_of(browser)->columns(browser, text);
	dump_browse_screen_line(1, DUMP_BROWSE_DIM, common_text_string(text));
}

static void draw(struct dump_browser *browser)
{
	const struct dump_browse_view *view = view_of(browser);
	const struct dump_browse_position *position = &browser->positions[browser->view];
	const int height = row_height(browser);
	uint64_t row;
	bool any;

	follow_cursor(browser);
	dump_browse_screen_clear();
	draw_head(browser);
	row = position->top;
	any = view->first(browser, &(uint64_t){0});
	for (int y = 0; any && y < height; y++) {
		enum dump_browse_style style = DUMP_BROWSE_PLAIN;

		browser->text.size = 0;
		view->row(browser, row, &browser->text, &style);
		dump_browse_screen_line(2 + y, row == position->cursor ? DUMP_BROWSE_CURSOR : style,
					common_text_string(&browser->text));
		if (!view->next(browser, &row))
			break;
	}
	if (any && source_height(browser) > 1)
		dump_browse_draw_source(browser, view->function(browser, position->cursor), 2 + height,
					source_height(browser));
	if (!browser->message.size)
		common_text_format(&browser->message, " %s   s source   / search   ? help   q %s", view->keys,
				   browser->view == DUMP_BROWSE_THREADS ? "ends" : "back");
	dump_browse_screen_line(dump_browse_screen_height() - 1, DUMP_BROWSE_BAR,
				common_text_string(&browser->message));
	dump_browse_screen_show();
}

static void show_help(void)
{
	dump_browse_screen_clear();
	dump_browse_screen_line(0, DUMP_BROWSE_BAR, " keys");
	for (size_t i = 0; i < sizeof(help) / sizeof(help[0]); i++)
		dump_browse_screen_line(1 + (int)i, DUMP_BROWSE_PLAIN, help[i]);
	dump_browse_screen_show();
	(void)dump_browse_screen_key();
}

/* ---- search -------------------------------------------------------------------------------------- */

static void browser_search(struct dump_browser *browser, bool back)
{
	const struct dump_browse_view *view = view_of(browser);
	struct dump_browse_position *position = &browser->positions[browser->view];
	uint64_t row = position->cursor;

	if (!browser->search.size) {
		dump_browse_say(browser, " nothing was searched yet: / does");
		return;
	}
	dump_browse_say_now(browser, " searching ...");
	if (view->first(browser, &(uint64_t){0}) && view->search(browser, back, &row))
		position->cursor = row;
	else
		dump_browse_say(browser, " no %s '%s' %s", back ? "earlier" : "further",
				common_text_string(&browser->search),
				back ? "(n searches forward)" : "(N searches back)");
}

/* Lets the user type a search text on the last line. Returns false if the user cancels. */
static bool ask(struct dump_browser *browser)
{
	struct ptl_bytes words = {0}, shown = {0};
	bool whole = false;

	for (;;) {
		int key;

		shown.size = 0;
		common_text_format(&shown, " search a function: %s", common_text_string(&words));
		dump_browse_screen_line(dump_browse_screen_height() - 1, DUMP_BROWSE_BAR, common_text_string(&shown));
		dump_browse_screen_show();
		key = dump_browse_screen_key();
		if (key == DUMP_BROWSE_ESCAPE || key == DUMP_BROWSE_GONE)
			break;
		if (key == DUMP_BROWSE_ENTER) {
			whole = true;
			break;
		}
		if (key == DUMP_BROWSE_BACKSPACE && words.size)
			words.size--;
		else if (key >= ' ' && key < 0x100)
			common_write_bytes(&words, &(char){(char)key}, 1);
	}
	if (whole && words.size) {
		browser->search.size = 0;
		common_write_bytes(&browser->search, words.data, words.size);
	}
	common_bytes_free(&words);
	common_bytes_free(&shown);
	return whole;
}

/* ---- keys ---------------------------------------------------------------------------------------- */

static void move(struct dump_browser *browser, int rows)
{
	const struct dump_browse_view *view = view_of(browser);
	struct dump_browse_position *position = &browser->positions[browser->view];

	if (!view->first(browser, &(uint64_t){0}))
		return;
	for (; rows > 0 && view->next(browser, &position->cursor); rows--)
		;
	for (; rows < 0 && view->previous(browser, &position->cursor); rows++)
		;
}

/* Moves to the last row by walking forward: views have a short way forward, and no row lies before the first. */
static void move_to_end(struct dump_browser *browser)
{
	const struct dump_browse_view *view = view_of(browser);
	uint64_t row;

	if (!view->first(browser, &row))
		return;
	do
		browser->positions[browser->view].cursor = row;
	while (view->next(browser, &row));
}

static bool take_move(struct dump_browser *browser, int key)
{
	const int page = row_height(browser) - 1;

	switch (key) {
	case DUMP_BROWSE_UP:
	case 'k':
		move(browser, -1);
		return true;
	case DUMP_BROWSE_DOWN:
	case 'j':
		move(browser, 1);
		return true;
	case DUMP_BROWSE_PAGE_UP:
		move(browser, -page);
		return true;
	case DUMP_BROWSE_PAGE_DOWN:
	case ' ':
		move(browser, page);
		return true;
	case DUMP_BROWSE_HOME:
	case 'g':
		(void)view_of(browser)->first(browser, &browser->positions[browser->view].cursor);
		return true;
	case DUMP_BROWSE_END:
	case 'G':
		move_to_end(browser);
		return true;
	default:
		return false;
	}
}

static int take_key(struct dump_browser *browser, int key)
{
	if (take_move(browser, key))
		return 0;
	switch (key) {
	case DUMP_BROWSE_GONE:
		browser->ended = true;
		return 0;
	case 'q':
	case DUMP_BROWSE_ESCAPE:
		browser->ended = browser->view == DUMP_BROWSE_THREADS;
		browser->view = DUMP_BROWSE_THREADS;
		return 0;
	case 't':
		browser->view = DUMP_BROWSE_THREADS;
		return 0;
	case 'r':
		return dump_browse_open(browser, DUMP_BROWSE_REPORT);
	case 'c':
		return dump_browse_open(browser, DUMP_BROWSE_CALLS);
	case 's':
		browser->source = !browser->source;
		return 0;
	case '/':
		if (ask(browser))
			browser_search(browser, false);
		return 0;
	case 'n':
	case 'N':
		browser_search(browser, key == 'N');
		return 0;
	case '?':
		show_help();
		return 0;
	default:
		return view_of(browser)->key(browser, key);
	}
}

/* ---- browser ------------------------------------------------------------------------------------- */

static int open_browser(struct dump_browser *browser)
{
	const struct analysis_filter *filter = &browser->run->options->filter;
	int status = dump_calls_open(&browser->calls_input, browser->run);

	if (status == 0)
		status = flow_sources_open(browser->run->trace, browser->calls_input.timeline, &browser->sources);
	dump_source_texts_start(&browser->texts, browser->run);
	if (status == 0)
		status = copy_ids(&browser->pids, &filter->pids);
	return status == 0 ? copy_ids(&browser->tids, &filter->tids) : status;
}

static void close_browser(struct dump_browser *browser)
{
	analysis_report_free(&browser->report);
	dump_browse_calls_free(&browser->calls);
	free(browser->choices);
	common_id_set_free(&browser->pids);
	common_id_set_free(&browser->tids);
	/* The screen is restored by now, so the user sees these messages. */
	analysis_warn_of_sources(browser->sources, NULL);
	flow_sources_close(browser->sources);
	dump_source_texts_warn(&browser->texts);
	dump_source_texts_free(&browser->texts);
	common_bytes_free(&browser->search);
	common_bytes_free(&browser->message);
	common_bytes_free(&browser->text);
	dump_calls_close(&browser->calls_input, browser->run);
}

int dump_browse_run(struct dump_run *run)
{
	struct dump_browser browser = {.run = run, .selection = {FLOW_NONE, FLOW_NONE}};
	int status = open_browser(&browser);

	if (status == 0)
		status = dump_browse_screen_start();
	/* Progress messages would be drawn over. */
	run->progress = false;
	while (status == 0 && !browser.ended) {
		draw(&browser);
		browser.message.size = 0;
		status = take_key(&browser, dump_browse_screen_key());
	}
	dump_browse_screen_end();
	close_browser(&browser);
	return status;
}
