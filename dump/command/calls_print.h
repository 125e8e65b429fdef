/* SPDX-License-Identifier: BSD-2-Clause */
/* The call tree of a thread as lines of text, or of JSON. */
#ifndef DUMP_COMMAND_CALLS_PRINT_H
#define DUMP_COMMAND_CALLS_PRINT_H

#include "dump/call/call_mark.h"
#include "dump/call/call_session.h"
#include "dump/call/call_tree.h"
#include "dump/command/calls_line.h"
#include "query/row.h"

/* What is shown of the trees, and how. Zero-initialised but for what the caller sets shows all. */
struct dump_calls_print {
	const struct dump_call_session *calls;
	const char *function; /* patterns; NULL: not asked for */
	const char *from;
	const char *until;
	uint64_t tail;                 /* how many calls at the end; 0: all */
	uint64_t max_depth;            /* 0: all */
	struct query_row_asker *where; /* its get is dump_calls_field; NULL: nothing is asked */

	struct dump_shown_name *names; /* by function; owned from here on */
	size_t name_count;
	struct dump_shown_level *levels;
	size_t level_count;
	struct dump_calls_line line; /* its session is set */
	struct ptl_bytes text;
	bool any;   /* a heading was written */
	bool shown; /* a call was */
	bool until_ran;
};

/* What --where may ask of a call. */
extern const struct query_row_field dump_calls_fields[];
struct dump_calls_row {
	const struct dump_call_session *calls;
	const struct dump_call_thread *thread;
	const struct dump_call_record *record;
	const char *name; /* as it is shown */
	size_t level;
	struct ptl_bytes text;
};
/* context is a struct dump_calls_row. */
void dump_calls_field(void *context, unsigned field, struct query_value *value);

/* The program that a thread ran; "" where it is not known. */
const char *dump_calls_program(const struct dump_call_session *calls, const struct dump_call_thread *thread);

int dump_calls_print(struct dump_calls_print *print, const struct dump_call_tree *tree,
		     const struct dump_call_thread *thread);
void dump_calls_print_free(struct dump_calls_print *print);

#endif
