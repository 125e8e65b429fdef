/* SPDX-License-Identifier: BSD-2-Clause */
/* Full-screen view of a trace: threads, the report and calls of a selection, and source lines. */
#ifndef DUMP_BROWSE_BROWSER_H
#define DUMP_BROWSE_BROWSER_H

#include "analysis/call/call_report.h"
#include "dump/browse/call_rows.h"
#include "dump/browse/screen.h"
#include "dump/print/source_text.h"
#include "dump/run/calls.h"

/* The flow that the report and calls show: all selected flow, or a process or thread of it. */
struct dump_browse_selection {
	uint32_t process; /* index in the timeline; FLOW_NONE: all processes */
	uint32_t thread;  /* index in the timeline; FLOW_NONE: all threads of the process */
};

enum dump_browse_screenful { DUMP_BROWSE_THREADS, DUMP_BROWSE_REPORT, DUMP_BROWSE_CALLS, DUMP_BROWSE_VIEWS };

/* Scroll position of a view. The view defines the meaning of row numbers. */
struct dump_browse_position {
	uint64_t top, cursor;
};

/* State of a view's data. */
struct dump_browse_contents {
	bool present;
	struct dump_browse_selection selection; /* selection that the data belongs to */
};

struct dump_browser {
	struct dump_run *run;
	struct analysis_calls calls_input;
	enum dump_browse_screenful view;
	struct dump_browse_position positions[DUMP_BROWSE_VIEWS];
	struct common_id_set pids, tids; /* selected by the options */
	bool ended;

	struct dump_browse_selection *choices; /* rows of the threads view; owned */
	size_t choice_count;
	struct dump_browse_selection selection;

	struct dump_browse_contents contents[DUMP_BROWSE_VIEWS];
	struct analysis_report report;
	unsigned order; /* sort order of the report; index in analysis_report_orders */
	struct dump_browse_calls calls;

	bool source; /* the source pane is visible */
	struct flow_sources *sources;
	struct dump_source_texts texts;

	struct ptl_bytes search;
	struct ptl_bytes message; /* visible until the next key */
	struct ptl_bytes text;
};

/* Operations of a view. */
struct dump_browse_view {
	const char *name;
	const char *keys; /* help on keys for the last line of the screen */
	/* Reads the data of the selection. Returns 0 or a negative ptl_status. */
	int (*read)(struct dump_browser *browser);
	bool (*first)(struct dump_browser *browser, uint64_t *row);
	bool (*next)(struct dump_browser *browser, uint64_t *row);
	bool (*previous)(struct dump_browser *browser, uint64_t *row);
	void (*columns)(struct dump_browser *browser, struct ptl_bytes *text);
	void (*row)(struct dump_browser *browser, uint64_t row, struct ptl_bytes *text, enum dump_browse_style *style);
	/* Returns the function of a row, for the source pane, or ANALYSIS_NO_FUNCTION. */
	uint32_t (*function)(struct dump_browser *browser, uint64_t row);
	/*
	 * Finds the next row (back: the previous row) that matches browser->search. On success, stores the row in *row
	 * and returns true.
	 */
	bool (*search)(struct dump_browser *browser, bool back, uint64_t *row);
	/* Handles a key that is specific to the view. A negative ptl_status ends the browser. */
	int (*key)(struct dump_browser *browser, int key);
};

extern const struct dump_browse_view dump_browse_threads_view, dump_browse_report_view, dump_browse_calls_view;

/* Shows the trace until the user quits. */
int dump_browse_run(struct dump_run *run);

/* ---- for the views ------------------------------------------------------------------------------- */

/* Sets the message line. dump_browse_say_now also draws the message at once. */
void dump_browse_say(struct dump_browser *browser, const char *format, ...) __attribute__((format(printf, 2, 3)));
void dump_browse_say_now(struct dump_browser *browser, const char *words);
/*
 * Switches to a view at its cursor position. Reads the selection's data if needed. In the threads view, the row at the
 * cursor becomes the selection. Returns 0 or a negative ptl_status of the view's `read`.
 */
int dump_browse_open(struct dump_browser *browser, enum dump_browse_screenful view);
/* Move *row to the next or previous row, for views with rows numbered from 0. */
bool dump_browse_next_number(uint64_t count, uint64_t *row);
bool dump_browse_previous_number(uint64_t *row);
/* Decodes the selected flow for an observer. Returns the status of analysis_calls_observe. */
int dump_browse_decode(struct dump_browser *browser, const struct analysis_call_observer *observer);
/* Appends the name of the selection: "gzip (4711)". */
void dump_browse_selection_text(struct dump_browser *browser, struct ptl_bytes *text);
/* Whether the function matches the search: the search text is a part of its name, or a matching pattern. */
bool dump_browse_finds(struct dump_browser *browser, uint32_t function);

/* Moves to the slowest call of a function, in the calls view of the selection. */
int dump_browse_go_to_slowest(struct dump_browser *browser, uint32_t function);

/* Draws source lines around a function, from screen line y on. */
void dump_browse_draw_source(struct dump_browser *browser, uint32_t function, int y, int height);

#endif
