/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions and header members in expressions. */
#ifndef QUERY_FUNCTIONS_H
#define QUERY_FUNCTIONS_H

#include "query/evaluate.h"

/* Return as query_evaluate. */
int query_call(const struct query_scope *scope, const struct query_expr *expr, struct query_value *value);
int query_header_value(const struct query_scope *scope, enum query_header header, struct query_value *value);

/* Returns PTL_CORRUPT with "FILE:LINE:COLUMN: expected WHAT, found a text", or a similar text. */
int query_wrong(const struct query_scope *scope, const struct query_expr *expr, const char *expected,
		const struct query_value *found);

#endif
