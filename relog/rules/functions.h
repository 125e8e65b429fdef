/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions and header parts in expressions. */
#ifndef RELOG_RULES_FUNCTIONS_H
#define RELOG_RULES_FUNCTIONS_H

#include "relog/rules/evaluate.h"

/* As rules_evaluate. */
int rules_call(const struct rules_scope_of *scope, const struct rules_expr *expr, struct rules_value *value);
int rules_header_value(const struct rules_scope_of *scope, enum rules_header header, struct rules_value *value);

/* PTL_CORRUPT: "FILE:LINE:COLUMN: expected WHAT, found a text" (or so). */
int rules_wrong(const struct rules_scope_of *scope, const struct rules_expr *expr, const char *expected,
		const struct rules_value *found);

#endif
