/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the call tree of a thread as lines of text or JSON. */
#ifndef DUMP_COMMAND_CALLS_PRINT_H
#define DUMP_COMMAND_CALLS_PRINT_H

#include "analysis/call/call_mark.h"
#include "analysis/call/call_tree.h"
#include "dump/command/calls_line.h"
#include "dump/run/calls.h"
#include "query/row.h"

/* Selection and state of the output. Zero-initialised members select all calls. */
struct dump_calls_print {
	const struct analysis_calls *calls;
	const char *function; /* patterns; NULL: not given */
	const char *from;
	const char *until;
	uint64_t tail;                 /* number of calls at the end; 0: all */
	uint64_t max_depth;            /* 0: unlimited */
	struct query_row_asker *where; /* its `get` is dump_calls_field; NULL: no condition */

	struct dump_shown_name *names; /* by function; owned by the printer */
	size_t name_count;
	struct dump_shown_level *levels;
	size_t level_count;
	struct dump_calls_line line; /* the caller sets its run */
	struct ptl_bytes text;
	bool any;   /* a heading was written */
	bool shown; /* a call was written */
	bool until_ran;
};

/* Fields of a call for --where. */
extern const struct query_row_field dump_calls_fields[];
struct dump_calls_row {
	const struct analysis_calls *calls;
	const struct analysis_call_thread *thread;
	const struct analysis_call_record *record;
	const char *name; /* displayed name */
	size_t level;
	struct ptl_bytes text;
	const struct analysis_call_values *values; /* NULL: the query names none */
};
/* Reads a field. context: a struct dump_calls_row. */
void dump_calls_field(void *context, unsigned field, struct query_value *value);

/*
 * Whether calls that are alike may share a line under a condition: only if the condition asks for the number of these
 * calls. Otherwise the condition selects each call by its own values.
 */
bool dump_calls_where_folds(const struct query_row *query);

/* Returns the name of the thread's program; "" if unknown. */
const char *dump_calls_program(const struct analysis_calls *calls, const struct analysis_call_thread *thread);

/*
 * Whether --function, --from, --until or --image names the function. Calls around the call then get lines of their own,
 * which are not displayed.
 */
bool dump_calls_print_selects(struct dump_calls_print *print, uint32_t function);
int dump_calls_print(struct dump_calls_print *print, const struct analysis_call_tree *tree,
		     const struct analysis_call_thread *thread);
void dump_calls_print_free(struct dump_calls_print *print);

#endif
