/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a self-contained HTML page that shows a trace, or compares two traces. */
#ifndef DUMP_EXPORT_HTML_HTML_H
#define DUMP_EXPORT_HTML_HTML_H

#include "analysis/call/call_report.h"
#include "dump/export/html/counters.h"
#include "dump/export/html/room.h"
#include "dump/export/html/slices.h"
#include "dump/export/path_run.h"

/* Maximum items of each kind in the page. The page names what was left out. */
struct dump_html_limits {
	uint64_t size; /* bytes of the page */
	uint64_t slices;
	uint64_t functions;
	uint64_t paths;
	uint64_t events;
	uint64_t sources; /* functions with source and instructions */
};

/* Minimum size of a page in bytes: its scripts, its frame, and some data for each view. */
#define DUMP_HTML_SIZE_MIN ((uint64_t)1 << 20)

/* Rows for a table of options. The structure must have a member `limits` of type struct dump_html_limits. */
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
		"max-sources", 0, "N", "Functions with their source and instructions (default: 100).",                 \
			COMMON_NUMBER(structure, limits.sources, 1, 10000)                                             \
	}

/* Data of one trace. Zero-initialise; call dump_html_trace_free in any case. */
struct dump_html_trace {
	struct dump_path_run path_run;
	struct analysis_report report;
	struct dump_slices slices;
	struct dump_counters counters;
	size_t function_count; /* rows written by dump_html_functions */
};

/*
 * Writes the page; two traces if the run has a second FILE. Limits of 0 are replaced by defaults. Returns
 * PTL_MISUSE for more traces, COMMON_EXIT_INPUT if the second trace is damaged, or a status of the parts below.
 */
int dump_html(struct dump_run *run, const struct dump_html_limits *limits);

/* ---- parts of the page: each writes one value to run->json_out ----------------------------------- */

struct dump_html {
	const struct dump_html_limits *limits;
	struct dump_html_trace trace[2];
	size_t count;
	struct dump_html_room room;
	struct dump_left_out left_out;
};

/* Runs over the trace: collects calls, functions and paths. */
int dump_html_trace_run(struct dump_html_trace *trace, const struct dump_html_limits *limits);
void dump_html_trace_free(struct dump_html_trace *trace);

/* Write the origin of the file, processes with threads, and losses. */
void dump_html_summary(struct dump_html *html, struct dump_run *run, const struct dump_html_trace *trace);
void dump_html_processes(struct dump_html *html, struct dump_run *run, const struct dump_html_trace *trace);
void dump_html_losses(struct dump_html *html, struct dump_run *run);
/* Writes the failed processes. Returns a status of dump_crash_report_make. */
int dump_html_crash(struct dump_html *html, struct dump_run *run, struct dump_html_trace *trace);
/* Writes the functions, sorted by self instructions. */
void dump_html_functions(struct dump_html *html, struct dump_run *run, struct dump_html_trace *trace);
/*
 * Returns, for each function number plus 1, the function's row in the table of functions, from 1; 0: not in the table. The
 * first entry belongs to ANALYSIS_NO_FUNCTION. The caller frees the list; NULL without memory. For use after
 * dump_html_functions.
 */
uint32_t *dump_html_function_rows(const struct dump_html_trace *trace, size_t *count);
/* Writes the tree of paths. Returns 0 or PTL_NO_MEMORY. */
int dump_html_paths(struct dump_html *html, struct dump_run *run, struct dump_html_trace *trace);
/*
 * Writes calls and gaps of each thread over time. Functions are row numbers of dump_html_functions. Returns 0 or
 * PTL_NO_MEMORY.
 */
int dump_html_timeline(struct dump_html *html, struct dump_run *run, struct dump_html_trace *trace);
/* Writes the timeline's members "cpus" and "running". Returns 0 or PTL_NO_MEMORY. */
int dump_html_cpus(struct dump_html *html, struct dump_run *run, const struct dump_html_trace *trace);
/* Writes the events. Returns a status of ptl_process. */
int dump_html_events(struct dump_html *html, struct dump_run *run, const struct flow_timeline *timeline);

/*
 * Writes source and instructions of the functions with the most instructions. Returns a status of
 * dump_html_annotations.
 */
int dump_html_sources(struct dump_html *html, struct dump_run *run, const struct dump_html_trace *trace);

/* ---- output of the page ------------------------------------------------------------------------------ */

/* Appends the bytes in base64. */
void dump_html_base64(struct ptl_bytes *text, const uint8_t *data, size_t size);

/* Files of this folder that make up the page. */
extern const char dump_html_template[], dump_html_style[], dump_html_script[];

#endif
