/* SPDX-License-Identifier: BSD-2-Clause */
/* What functions, images, processes or threads took: an observer of calls that adds them up. */
#ifndef DUMP_CALL_CALL_REPORT_H
#define DUMP_CALL_CALL_REPORT_H

#include "dump/call/call_session.h"
#include "flow/symbol/source_line.h"

enum dump_report_by {
	DUMP_REPORT_FUNCTION,
	DUMP_REPORT_IMAGE,
	DUMP_REPORT_LINE,
	DUMP_REPORT_INLINE,
	DUMP_REPORT_PROCESS,
	DUMP_REPORT_THREAD,
};

/* What a row has on one stack of the thread at hand, while the flow is walked. */
struct dump_report_span {
	uint64_t active;             /* calls that go on */
	uint64_t time, instructions; /* of the row's total: from this stack */
	uint64_t program;            /* number of the program that these are of */
};

/* Totals count a call within a call of the same row, on the same stack, once. */
struct dump_report_row {
	uint64_t calls; /* that were seen */
	uint64_t total_time;
	uint64_t self_time;
	uint64_t total_instructions;
	uint64_t self_instructions;
	struct dump_report_span span;  /* on the first stack of the thread */
	uint64_t inlined_instructions; /* of the total, in copies that were inlined into others */
	/* What it is of, as `by` says. */
	uint32_t function;
	const char *image; /* path; NULL of other rows */
	const char *file;  /* of an inlined function's declaration; "" unknown */
	uint32_t line;
	uint32_t process, pid, tid, cpu;
	char *name; /* owned; the file of a line, an inlined function; "" of code without symbols */
};

/* What is worked out of a node of a piece: its row, and what it took with its calls. */
struct dump_report_node {
	uint64_t time, instructions;
	uint32_t row;
	uint32_t child, sibling; /* the first one; the next one; 0: none */
};

struct dump_report {
	enum dump_report_by by;
	const struct dump_call_session *calls;
	struct dump_report_row *rows; /* owned */
	size_t count, capacity;
	uint32_t *by_function; /* row of each function, counted from 1; owned */
	size_t function_capacity;
	struct common_byte_map by_name;  /* images */
	struct common_hash_map by_stack; /* index in spans, by stack and row, for stacks but the first */
	struct dump_report_span *spans;  /* owned */
	size_t span_count, span_capacity;
	uint64_t program;               /* counts programs of all threads: each begins with new stacks */
	uint32_t row;                   /* of the thread or process at hand */
	struct dump_report_row sum;     /* of all that ran: its total is its self */
	bool timed;                     /* some of it has times */
	struct dump_report_node *nodes; /* of the piece at hand; owned */
	size_t node_capacity;
	struct flow_sources *sources; /* of lines and inlined functions; owned */
};

/* What the observer's context is: by, calls, and zero else. Not for lines and inlined functions. */
struct dump_call_observer dump_report_observer_of(struct dump_report *report);
/* The same without its context, for who calls it along with others: it takes calls one by one, and pieces. */
extern const struct dump_call_observer dump_report_observer;
void dump_report_free(struct dump_report *report);

/*
 * The rows of source lines, which only have instructions of their own; of functions of the source, inlined or not, whose total
 * is with what was inlined into them.
 */
int dump_report_lines(struct dump_report *report);

/* The orders of rows, by name of --sort; each ends with names, so that equal rows have an order, too. */
extern const char *const dump_report_orders[];
/* Rows without anything go. Nothing is added afterwards. */
void dump_report_sort(struct dump_report *report, unsigned order);

#endif
