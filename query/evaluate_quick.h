/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way that most expressions can go: whole numbers and comparisons of them. Each function is false where it is not
 * that simple, or where something is wrong; query_evaluate then does it all again, and says what.
 */
#ifndef QUERY_EVALUATE_QUICK_H
#define QUERY_EVALUATE_QUICK_H

#include <stdbool.h>

#include "query/evaluate.h"

bool query_quick_number(const struct query_scope *scope, const struct query_expr *expr, query_number *number);
bool query_quick_truth(const struct query_scope *scope, const struct query_expr *expr, bool *truth);

#endif
