/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fast evaluation for most expressions: whole numbers and their comparisons. A function returns false if the expression
 * is not that simple, or wrong. query_evaluate must then evaluate the expression again, and reports errors.
 */
#ifndef QUERY_EVALUATE_QUICK_H
#define QUERY_EVALUATE_QUICK_H

#include <stdbool.h>

#include "query/evaluate.h"

bool query_quick_number(const struct query_scope *scope, const struct query_expr *expr, query_number *number);
bool query_quick_truth(const struct query_scope *scope, const struct query_expr *expr, bool *truth);

#endif
