/* SPDX-License-Identifier: BSD-2-Clause */
/* A trace on the screen: threads, the report and the calls of what was chosen, source lines beside them. */
#ifndef DUMP_BROWSE_BROWSER_H
#define DUMP_BROWSE_BROWSER_H

#include "dump/call/call_report.h"
#include "dump/browse/call_rows.h"
#include "dump/browse/screen.h"
#include "dump/print/source_text.h"

/* Which flow the report or the calls are of: all that the options select, a process or a thread of it. */
struct dump_browse_selection {
	uint32_t process; /* index in the timeline; FLOW_NONE: all */
	uint32_t thread;  /* index; FLOW_NONE: all of the process */
};

enum dump_browse_screenful { DUMP_BROWSE_THREADS, DUMP_BROWSE_REPORT, DUMP_BROWSE_CALLS, DUMP_BROWSE_VIEWS };

/* Where a view is: rows are numbers that the view gives a meaning. */
struct dump_browse_position {
	uint64_t top, cursor;
};

/* What a view has read. */
struct dump_browse_contents {
	bool present;
	struct dump_browse_selection selection; /* that it is of */
};

struct dump_browser {
	struct dump_session *session;
	struct dump_call_session calls_session;
	enum dump_browse_screenful view;
	struct dump_browse_position positions[DUMP_BROWSE_VIEWS];
	struct common_id_set pids, tids; /* that the options select */
	bool ended;

	struct dump_browse_selection *choices; /* rows of the view of threads; owned */
	size_t choice_count;
	struct dump_browse_selection selection;

	struct dump_browse_contents contents[DUMP_BROWSE_VIEWS];
	struct dump_report report;
	unsigned order; /* of the report, in dump_report_orders */
	struct dump_browse_calls calls;

	bool source; /* is shown */
	struct flow_sources *sources;
	struct dump_source_texts texts;

	struct ptl_bytes search;
	struct ptl_bytes message; /* shown until the next key */
	struct ptl_bytes text;
};

/* What a view shows. */
struct dump_browse_view {
	const char *name;
	const char *keys; /* what they do here, for the last line */
	/* Reads what the view shows of the selection. A negative ptl_status. */
	int (*read)(struct dump_browser *browser);
	bool (*first)(struct dump_browser *browser, uint64_t *row);
	bool (*next)(struct dump_browser *browser, uint64_t *row);
	bool (*previous)(struct dump_browser *browser, uint64_t *row);
	void (*columns)(struct dump_browser *browser, struct ptl_bytes *text);
	void (*row)(struct dump_browser *browser, uint64_t row, struct ptl_bytes *text, enum dump_browse_style *style);
	/* The function of a row, for its source; DUMP_NO_FUNCTION. */
	uint32_t (*function)(struct dump_browser *browser, uint64_t row);
	/* Whether there is a row behind (before) this one that browser->search finds; it is *row then. */
	bool (*search)(struct dump_browser *browser, bool back, uint64_t *row);
	/* A key that is not of all views. A negative ptl_status ends it all. */
	int (*key)(struct dump_browser *browser, int key);
};

extern const struct dump_browse_view dump_browse_threads_view, dump_browse_report_view, dump_browse_calls_view;

/* Shows the trace until the user has enough. */
int dump_browse_run(struct dump_session *session);

/* ---- for the views ------------------------------------------------------------------------------- */

/* Says what is being done, or what was found. */
void dump_browse_say(struct dump_browser *browser, const char *format, ...) __attribute__((format(printf, 2, 3)));
void dump_browse_say_now(struct dump_browser *browser, const char *words);
/*
 * Shows a view at its cursor, and reads what it needs of the selection if it has not. In the view of threads the
 * selection becomes what the cursor is at. A negative ptl_status: what the view's read returned.
 */
int dump_browse_open(struct dump_browser *browser, enum dump_browse_screenful view);
/* The row after this one, and before it, where rows are numbered from 0 on. */
bool dump_browse_next_number(uint64_t count, uint64_t *row);
bool dump_browse_previous_number(uint64_t *row);
/* Has what the selection selects decoded by an observer. What dump_call_session_run returns. */
int dump_browse_decode(struct dump_browser *browser, const struct dump_call_observer *observer);
/* Appends what the selection is of: "gzip (4711)". */
void dump_browse_selection_text(struct dump_browser *browser, struct ptl_bytes *text);
/* Whether the function is one that the search is for: the words are a part of its name, or a pattern for it. */
bool dump_browse_finds(struct dump_browser *browser, uint32_t function);

/* The slowest call of a function in the calls of the selection. */
int dump_browse_go_to_slowest(struct dump_browser *browser, uint32_t function);

/* Draws lines of the source around a function from y on. */
void dump_browse_draw_source(struct dump_browser *browser, uint32_t function, int y, int height);

#endif
