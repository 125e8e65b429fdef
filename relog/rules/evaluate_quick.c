/* SPDX-License-Identifier: BSD-2-Clause */
#include "relog/rules/evaluate_quick.h"

static bool header(const struct ptl_event *event, unsigned index, rules_number *number)
{
	const struct ptl_descriptor *descriptor = &event->descriptor;

	switch ((enum rules_header)index) {
	case RULES_HEADER_ID:
		*number = descriptor->id;
		return true;
	case RULES_HEADER_VERSION:
		*number = descriptor->version;
		return true;
	case RULES_HEADER_LEVEL:
		*number = descriptor->level;
		return true;
	case RULES_HEADER_OPCODE:
		*number = descriptor->opcode;
		return true;
	case RULES_HEADER_KEYWORD:
		*number = descriptor->keyword;
		return true;
	case RULES_HEADER_PID:
		*number = event->pid;
		return true;
	case RULES_HEADER_TID:
		*number = event->tid;
		return true;
	case RULES_HEADER_CPU:
		*number = event->cpu;
		return true;
	case RULES_HEADER_TIME:
		*number = event->time;
		return true;
	default:
		return false;
	}
}

bool rules_quick_number(const struct rules_scope_of *scope, const struct rules_expr *expr, rules_number *number)
{
	rules_number a, b;

	if (expr->op == RULES_NUMBER) {
		*number = expr->number;
		return true;
	}
	if (expr->op == RULES_HEADER)
		return scope->event && header(scope->event, expr->index, number);
	if (expr->op == RULES_FIELD)
		return scope->number && scope->number(scope->context, expr->index, number);
	if (expr->op < RULES_ADD || expr->op > RULES_BIT_AND || !rules_quick_number(scope, expr->argument[0], &a) ||
	    !rules_quick_number(scope, expr->argument[1], &b))
		return false;
	switch (expr->op) {
	case RULES_ADD:
		return !__builtin_add_overflow(a, b, number);
	case RULES_SUBTRACT:
		return !__builtin_sub_overflow(a, b, number);
	case RULES_BIT_AND:
		*number = a & b;
		return true;
	case RULES_BIT_OR:
		*number = a | b;
		return true;
	case RULES_BIT_XOR:
		*number = a ^ b;
		return true;
	default:
		return false;
	}
}

static bool compare(const struct rules_scope_of *scope, const struct rules_expr *expr, bool *truth)
{
	rules_number a, b;

	if (!rules_quick_number(scope, expr->argument[0], &a) || !rules_quick_number(scope, expr->argument[1], &b))
		return false;
	switch (expr->op) {
	case RULES_EQUAL:
		*truth = a == b;
		return true;
	case RULES_UNEQUAL:
		*truth = a != b;
		return true;
	case RULES_LESS:
		*truth = a < b;
		return true;
	case RULES_LESS_EQUAL:
		*truth = a <= b;
		return true;
	case RULES_GREATER:
		*truth = a > b;
		return true;
	case RULES_GREATER_EQUAL:
		*truth = a >= b;
		return true;
	default:
		return false;
	}
}

bool rules_quick_truth(const struct rules_scope_of *scope, const struct rules_expr *expr, bool *truth)
{
	switch (expr->op) {
	case RULES_BOOL:
		*truth = expr->truth;
		return true;
	case RULES_NOT:
		if (!rules_quick_truth(scope, expr->argument[0], truth))
			return false;
		*truth = !*truth;
		return true;
	case RULES_OR:
	case RULES_AND:
		/* The second operand counts where the first one does not decide. */
		if (!rules_quick_truth(scope, expr->argument[0], truth))
			return false;
		return *truth == (expr->op == RULES_OR) || rules_quick_truth(scope, expr->argument[1], truth);
	default:
		return expr->op >= RULES_EQUAL && expr->op <= RULES_GREATER_EQUAL && compare(scope, expr, truth);
	}
}
