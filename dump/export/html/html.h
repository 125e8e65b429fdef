/* SPDX-License-Identifier: BSD-2-Clause */
/* One page of HTML that shows a trace, or two that are compared: everything it needs is in it. */
#ifndef DUMP_EXPORT_HTML_HTML_H
#define DUMP_EXPORT_HTML_HTML_H

#include "dump/call/call_report.h"
#include "dump/export/html/counters.h"
#include "dump/export/html/room.h"
#include "dump/export/html/slices.h"
#include "dump/export/path_session.h"

/* How much of each kind is in the page at most; what is beyond is left out, and that is said. */
struct dump_html_limits {
	uint64_t size; /* bytes of the page */
	uint64_t slices;
	uint64_t functions;
	uint64_t paths;
	uint64_t events;
	uint64_t sources; /* functions whose source and instructions are shown */
};

/* Its scripts and its frame, and something of each view. */
#define DUMP_HTML_SIZE_MIN ((uint64_t)1 << 20)

/* Rows of a table of options. A member `limits` is a struct dump_html_limits. */
#define DUMP_HTML_OPTIONS(structure)                                                                                   \
	{"", 0, NULL, "How much is in the page at most:"},                                                             \
		{"max-size", 0, "SIZE", "Bytes of the page (default: 64M).",                                           \
		 COMMON_SIZE(structure, limits.size, DUMP_HTML_SIZE_MIN, UINT64_MAX)},                                 \
		{"max-slices", 0, "N", "Calls of the timeline, the longest ones (default: 1000000).",                  \
		 COMMON_NUMBER(structure, limits.slices, 1, 10000000)},                                                \
		{"max-functions", 0, "N", "Functions of the table (default: 20000).",                                  \
		 COMMON_NUMBER(structure, limits.functions, 1, 1000000)},                                              \
		{"max-paths", 0, "N", "Paths of the flame graph (default: 50000).",                                    \
		 COMMON_NUMBER(structure, limits.paths, 1, 1000000)},                                                  \
		{"max-events", 0, "N", "Events, and gaps (default: 10000).",                                           \
		 COMMON_NUMBER(structure, limits.events, 1, 1000000)},                                                 \
	{                                                                                                              \
		"max-sources", 0, "N", "Functions with their source and instructions (default: 30).",                  \
			COMMON_NUMBER(structure, limits.sources, 1, 10000)                                             \
	}

/* One of the traces. Zero-initialise, and free in any case. */
struct dump_html_trace {
	struct dump_path_session run;
	struct dump_report report;
	struct dump_slices slices;
	struct dump_counters counters;
	size_t function_count; /* rows of dump_html_functions */
};

/*
 * Writes the page, of two traces where the session has one more, with defaults for limits that are 0. PTL_MISUSE where there
 * are more traces, else what the parts return; COMMON_EXIT_INPUT where the second trace is damaged.
 */
int dump_html(struct dump_session *session, const struct dump_html_limits *limits);

/* ---- parts of the page: each writes one value to json_out of the session that the trace has ---------- */

struct dump_html {
	const struct dump_html_limits *limits;
	struct dump_html_trace trace[2];
	size_t count;
	struct dump_html_room room;
	struct dump_left_out left_out;
};

/* Runs over the trace: calls, functions and paths. */
int dump_html_trace_run(struct dump_html_trace *trace, const struct dump_html_limits *limits);
void dump_html_trace_free(struct dump_html_trace *trace);

/* What the file is, processes with their threads, losses. */
void dump_html_summary(struct dump_html *html, struct dump_session *session, const struct dump_html_trace *trace);
void dump_html_processes(struct dump_html *html, struct dump_session *session, const struct dump_html_trace *trace);
void dump_html_losses(struct dump_html *html, struct dump_session *session);
/* The functions in the order of their own instructions. */
void dump_html_functions(struct dump_html *html, struct dump_session *session, struct dump_html_trace *trace);
/* A tree of paths. PTL_NO_MEMORY. */
int dump_html_paths(struct dump_html *html, struct dump_session *session, struct dump_html_trace *trace);
/* Calls and gaps of each thread over time; functions are rows of dump_html_functions. PTL_NO_MEMORY. */
int dump_html_timeline(struct dump_html *html, struct dump_session *session, struct dump_html_trace *trace);
/* Of the timeline: members "cpus" and "running". PTL_NO_MEMORY. */
int dump_html_cpus(struct dump_html *html, struct dump_session *session, const struct dump_html_trace *trace);
/* What ptl_process returns. */
int dump_html_events(struct dump_html *html, struct dump_session *session, const struct flow_timeline *timeline);

/* Source and instructions of the functions that ran most. What dump_html_annotations returns. */
int dump_html_sources(struct dump_html *html, struct dump_session *session, const struct dump_html_trace *trace);

/* ---- what the page is written through ---------------------------------------------------------------- */

/* Appends the bytes in base64. */
void dump_html_base64(struct ptl_bytes *text, const uint8_t *data, size_t size);

/* The files that the page is made of, as they are in this folder. */
extern const char dump_html_template[], dump_html_style[], dump_html_script[];

#endif
