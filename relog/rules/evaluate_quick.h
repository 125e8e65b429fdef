/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way that most expressions can go: whole numbers and comparisons of them. Each function is false where it is not
 * that simple, or where something is wrong; rules_evaluate then does it all again, and says what.
 */
#ifndef RELOG_RULES_EVALUATE_QUICK_H
#define RELOG_RULES_EVALUATE_QUICK_H

#include <stdbool.h>

#include "relog/rules/evaluate.h"

bool rules_quick_number(const struct rules_scope_of *scope, const struct rules_expr *expr, rules_number *number);
bool rules_quick_truth(const struct rules_scope_of *scope, const struct rules_expr *expr, bool *truth);

#endif
