/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions and header parts in expressions. */
#ifndef QUERY_FUNCTIONS_H
#define QUERY_FUNCTIONS_H

#include "query/evaluate.h"

/* As query_evaluate. */
int query_call(const struct query_scope *scope, const struct query_expr *expr, struct query_value *value);
int query_header_value(const struct query_scope *scope, enum query_header header, struct query_value *value);

/* PTL_CORRUPT: "FILE:LINE:COLUMN: expected WHAT, found a text" (or so). */
int query_wrong(const struct query_scope *scope, const struct query_expr *expr, const char *expected,
		const struct query_value *found);

#endif
