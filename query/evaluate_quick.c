/* SPDX-License-Identifier: BSD-2-Clause */
#include "query/evaluate_quick.h"

static bool header(const struct ptl_event *event, unsigned index, query_number *number)
{
	const struct ptl_descriptor *descriptor = &event->descriptor;

	switch ((enum query_header)index) {
	case QUERY_HEADER_ID:
		*number = descriptor->id;
		return true;
	case QUERY_HEADER_VERSION:
		*number = descriptor->version;
		return true;
	case QUERY_HEADER_LEVEL:
		*number = descriptor->level;
		return true;
	case QUERY_HEADER_OPCODE:
		*number = descriptor->opcode;
		return true;
	case QUERY_HEADER_KEYWORD:
		*number = descriptor->keyword;
		return true;
	case QUERY_HEADER_PID:
		*number = event->pid;
		return true;
	case QUERY_HEADER_TID:
		*number = event->tid;
		return true;
	case QUERY_HEADER_CPU:
		*number = event->cpu;
		return true;
	case QUERY_HEADER_TIME:
		*number = event->time;
		return true;
	default:
		return false;
	}
}

bool query_quick_number(const struct query_scope *scope, const struct query_expr *expr, query_number *number)
{
	query_number a, b;

	if (expr->op == QUERY_NUMBER) {
		*number = expr->number;
		return true;
	}
	if (expr->op == QUERY_HEADER)
		return scope->event && header(scope->event, expr->index, number);
	if (expr->op == QUERY_FIELD)
		return scope->number && scope->number(scope->context, expr->index, number);
	if (expr->op < QUERY_ADD || expr->op > QUERY_BIT_AND || !query_quick_number(scope, expr->argument[0], &a) ||
	    !query_quick_number(scope, expr->argument[1], &b))
		return false;
	switch (expr->op) {
	case QUERY_ADD:
		return !__builtin_add_overflow(a, b, number);
	case QUERY_SUBTRACT:
		return !__builtin_sub_overflow(a, b, number);
	case QUERY_BIT_AND:
		*number = a & b;
		return true;
	case QUERY_BIT_OR:
		*number = a | b;
		return true;
	case QUERY_BIT_XOR:
		*number = a ^ b;
		return true;
	default:
		return false;
	}
}

static bool compare_quickly(const struct query_scope *scope, const struct query_expr *expr, bool *truth)
{
	query_number a, b;

	if (!query_quick_number(scope, expr->argument[0], &a) || !query_quick_number(scope, expr->argument[1], &b))
		return false;
	switch (expr->op) {
	case QUERY_EQUAL:
		*truth = a == b;
		return true;
	case QUERY_UNEQUAL:
		*truth = a != b;
		return true;
	case QUERY_LESS:
		*truth = a < b;
		return true;
	case QUERY_LESS_EQUAL:
		*truth = a <= b;
		return true;
	case QUERY_GREATER:
		*truth = a > b;
		return true;
	case QUERY_GREATER_EQUAL:
		*truth = a >= b;
		return true;
	default:
		return false;
	}
}

bool query_quick_truth(const struct query_scope *scope, const struct query_expr *expr, bool *truth)
{
	switch (expr->op) {
	case QUERY_BOOL:
		*truth = expr->truth;
		return true;
	case QUERY_NOT:
		if (!query_quick_truth(scope, expr->argument[0], truth))
			return false;
		*truth = !*truth;
		return true;
	case QUERY_OR:
	case QUERY_AND:
		/* Evaluate the second operand only if the first does not decide. */
		if (!query_quick_truth(scope, expr->argument[0], truth))
			return false;
		return *truth == (expr->op == QUERY_OR) || query_quick_truth(scope, expr->argument[1], truth);
	default:
		return expr->op >= QUERY_EQUAL && expr->op <= QUERY_GREATER_EQUAL &&
		       compare_quickly(scope, expr, truth);
	}
}
