/* SPDX-License-Identifier: BSD-2-Clause */
/* Evaluates expressions: man/ptl-rules.5, EXPRESSIONS. */
#ifndef QUERY_EVALUATE_H
#define QUERY_EVALUATE_H

#include "query/files.h"
#include "query/value.h"

/* State of the loops around an expression. */
struct query_loops {
	uint32_t at[QUERY_LOOPS_MAX]; /* by slot: index of the current element */
	uint32_t steps;               /* loop steps so far */
};

/* Values of names in an expression. */
struct query_scope {
	const char *name; /* file name for messages */
	struct query_files *files;
	struct common_arena *scratch;  /* memory of the current event */
	const struct ptl_event *event; /* NULL: no event */
	uint32_t pid;                  /* result of QUERY_PID */
	/* Returns the program of the event's process, "" if unknown. NULL: not available. */
	const char *(*program)(void *context);
	/* Returns the field with this index; NONE: the field is missing. */
	int (*field)(void *context, unsigned index, struct query_value *value);
	/*
	 * Fast variant of `field` for whole numbers. Returns false if the caller must use `field`. NULL: always use
	 * `field`.
	 */
	bool (*number)(void *context, unsigned index, query_number *number);
	/* Returns the number of elements of a field. *there = false: the field is missing. */
	int (*elements)(void *context, unsigned index, uint32_t *count, bool *there);
	/* Evaluates a condition by index; NONE: the field is missing. NULL: no conditions. */
	int (*condition)(void *context, unsigned index, struct query_value *value);
	/* Returns the value names of a field; NULL: no names. NULL function: no field has names. */
	const struct ptl_map *(*map)(void *context, unsigned index);
	struct query_loops *loops; /* loops of the event; NULL: no event */
	void *context;
};

/*
 * Evaluates an expression. The value NONE stands for missing fields; operators pass NONE on. Returns PTL_CORRUPT with
 * "FILE:LINE:COLUMN: expected ..., found ..." for operands that do not fit; PTL_NO_MEMORY; PTL_SYSTEM for files.
 */
int query_evaluate(const struct query_scope *scope, const struct query_expr *expr, struct query_value *value);

/* Evaluates an expression with the value true or false. NONE counts as false. */
int query_evaluate_truth(const struct query_scope *scope, const struct query_expr *expr, bool *truth);
/*
 * Evaluate an expression that must be a number from 0 to last, or a text without zero bytes. `otherwise` is the result
 * for a NULL expression.
 */
int query_evaluate_number(const struct query_scope *scope, const struct query_expr *expr, uint64_t last,
			  uint64_t otherwise, uint64_t *number);
int query_evaluate_text(const struct query_scope *scope, const struct query_expr *expr, const char *otherwise,
			const char **text);

/*
 * Advances a loop over `count` elements, from *next on. Returns true, with the loop's index set, if there is another
 * element. *status: PTL_CORRUPT if the loops of an event take too many steps.
 */
bool query_next_element(const struct query_scope *scope, const struct query_loop *loop, uint32_t count, uint32_t *next,
			int *status);

#endif
