/* SPDX-License-Identifier: BSD-2-Clause */
/* Computes expressions: man/ptl-rules.5, EXPRESSIONS. */
#ifndef QUERY_EVALUATE_H
#define QUERY_EVALUATE_H

#include "query/files.h"
#include "query/value.h"

/* Where the loops around an expression are. */
struct query_loops {
	uint32_t at[QUERY_LOOPS_MAX]; /* by slot: the number of the element */
	uint32_t steps;               /* that loops took so far */
};

/* What names in an expression stand for. */
struct query_scope {
	const char *name; /* of the file, for messages */
	struct query_files *files;
	struct common_arena *scratch;  /* of the event */
	const struct ptl_event *event; /* NULL: there is none */
	uint32_t pid;                  /* that QUERY_PID gives */
	/* What the event's process runs, "" where that is unknown. NULL: there is none. */
	const char *(*program)(void *context);
	/* The field with this index. NONE: it is not there. */
	int (*field)(void *context, unsigned index, struct query_value *value);
	/* The same where it is a whole number that is easily had; false: ask `field`. NULL: always so. */
	bool (*number)(void *context, unsigned index, query_number *number);
	/* How many elements the field with this index has; *there = false: it is not there. */
	int (*elements)(void *context, unsigned index, uint32_t *count, bool *there);
	/* Whether the condition with this index is met; NONE: its field is not there. NULL: there are no conditions. */
	int (*condition)(void *context, unsigned index, struct query_value *value);
	/* The names of the values of the field with this index; NULL: they have none. NULL function: none have. */
	const struct ptl_map *(*map)(void *context, unsigned index);
	struct query_loops *loops; /* of the event; NULL: there is none */
	void *context;
};

/*
 * PTL_CORRUPT with "FILE:LINE:COLUMN: expected ..., found ..." for values that do not go together, PTL_NO_MEMORY,
 * PTL_SYSTEM for files. A value of NONE comes of fields that are not there: every operator passes it on.
 */
int query_evaluate(const struct query_scope *scope, const struct query_expr *expr, struct query_value *value);

/* Whether it holds: what must be true or false. A value of NONE is false. */
int query_evaluate_truth(const struct query_scope *scope, const struct query_expr *expr, bool *truth);
/* The same for what must be a number of first to last, or a text without a zero byte (NULL expr: otherwise). */
int query_evaluate_number(const struct query_scope *scope, const struct query_expr *expr, uint64_t last,
			  uint64_t otherwise, uint64_t *number);
int query_evaluate_text(const struct query_scope *scope, const struct query_expr *expr, const char *otherwise,
			const char **text);

/*
 * Before each turn of a loop: true, with its number set, for the next of `count` elements from *next on. *status is
 * PTL_CORRUPT where an event takes too many steps.
 */
bool query_next_element(const struct query_scope *scope, const struct query_loop *loop, uint32_t count, uint32_t *next,
			int *status);

/* PTL_CORRUPT at a place of the file of this name. */
int query_fail_at(const char *name, struct query_place at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
