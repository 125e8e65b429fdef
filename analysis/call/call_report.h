/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums of calls by function, image, process or thread: an observer of calls. */
#ifndef ANALYSIS_CALL_CALL_REPORT_H
#define ANALYSIS_CALL_CALL_REPORT_H

#include "analysis/call/call_input.h"
#include "flow/symbol/source_line.h"

enum analysis_report_by {
	ANALYSIS_REPORT_FUNCTION,
	ANALYSIS_REPORT_IMAGE,
	ANALYSIS_REPORT_LINE,
	ANALYSIS_REPORT_INLINE,
	ANALYSIS_REPORT_PROCESS,
	ANALYSIS_REPORT_THREAD,
};

/* Values of a row on one stack of the current thread, during the walk. */
struct analysis_report_span {
	uint64_t active;             /* unfinished calls */
	uint64_t time, instructions; /* part of the row's total that comes from this stack */
	uint64_t program;            /* number of the program that these values belong to */
};

/* Totals count a call once, even if it is called within another call of the same row on the same stack. */
struct analysis_report_row {
	uint64_t calls; /* calls with a known begin */
	uint64_t total_time;
	uint64_t self_time;
	uint64_t total_instructions;
	uint64_t self_instructions;
	struct analysis_report_span span; /* values on the thread's first stack */
	uint64_t inlined_instructions;    /* part of the total in inlined copies of the function */
	/* Subject of the row, as selected by `by`. */
	uint32_t function;
	const char *image; /* path; NULL in other rows */
	const char *file;  /* file with the declaration of an inlined function; "" unknown */
	uint32_t line;
	uint32_t process, pid, tid, cpu;
	char *name; /* owned; file of a line, or name of an inlined function; "" for code without symbols */
};

/* Working data of a piece's node: its row, and totals including its calls. */
struct analysis_report_node {
	uint64_t time, instructions;
	uint32_t row;
	uint32_t child, sibling; /* first child; next sibling; 0: none */
};

struct analysis_report {
	enum analysis_report_by by;
	const struct analysis_calls *calls;
	struct analysis_report_row *rows; /* owned */
	size_t count, capacity;
	uint32_t *by_function; /* row by function, from 1; owned */
	size_t function_capacity;
	struct common_byte_map by_name;     /* of images */
	struct common_hash_map by_stack;    /* index in `spans` by stack and row, for all stacks but the first */
	struct analysis_report_span *spans; /* owned */
	size_t span_count, span_capacity;
	uint64_t program;                   /* counts programs of all threads: each program begins with new stacks */
	uint32_t row;                       /* row of the current thread or process */
	struct analysis_report_row sum;     /* of all executed code: total equals self */
	bool timed;                         /* some calls have times */
	struct analysis_report_node *nodes; /* of the current piece; owned */
	size_t node_capacity;
	struct flow_sources *sources; /* of lines and inlined functions; owned */
	uint64_t gaps;                /* of lines and inlined functions: places where flow is missing */
};

/*
 * Returns an observer with `report` as context. Set by and calls, zero the other members. Not for lines and inlined
 * functions.
 */
struct analysis_call_observer analysis_report_observer_of(struct analysis_report *report);
/* The observer without context, for callers that combine observers. Takes single calls and pieces. */
extern const struct analysis_call_observer analysis_report_observer;
void analysis_report_free(struct analysis_report *report);

/*
 * Fills the rows of ANALYSIS_REPORT_LINE or ANALYSIS_REPORT_INLINE. Rows of lines have only self instructions. Rows of source
 * functions, inlined or not, have totals that include code inlined into them.
 */
int analysis_report_lines(struct analysis_report *report);

/* Names of sort orders for --sort. All orders finally compare names, so equal rows have a fixed order. */
extern const char *const analysis_report_orders[];
/* Sorts the rows, and removes rows without values. No values can be added afterwards. */
void analysis_report_sort(struct analysis_report *report, unsigned order);

#endif
