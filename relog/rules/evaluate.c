/* SPDX-License-Identifier: BSD-2-Clause */
/* Evaluates the tree of an expression; numbers are exact. */
#include "relog/rules/evaluate.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "relog/rules/evaluate_quick.h"
#include "relog/rules/functions.h"
#include "relog/rules/glob.h"

int rules_fail_at(const struct rules *rules, struct rules_place at, const char *format, ...)
{
	char text[512];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	return common_fail(PTL_CORRUPT, "%s:%u:%u: %s", rules->name, at.line, at.column, text);
}

int rules_wrong(const struct rules_scope_of *scope, const struct rules_expr *expr, const char *expected,
		const struct rules_value *found)
{
	return rules_fail_at(scope->rules, expr->at, "expected %s, found %s", expected, rules_value_name(found));
}

static int overflow(const struct rules_scope_of *scope, const struct rules_expr *expr)
{
	return rules_fail_at(scope->rules, expr->at, "expected a number of at most 127 bits, found more");
}

/* ---- one operand ------------------------------------------------------------------------- */

static int evaluate_unary(const struct rules_scope_of *scope, const struct rules_expr *expr, struct rules_value *value)
{
	int status = rules_evaluate(scope, expr->argument[0], value);

	if (status < 0 || value->kind == RULES_VALUE_NONE)
		return status;
	if (expr->op == RULES_NOT) {
		if (value->kind != RULES_VALUE_BOOL)
			return rules_wrong(scope, expr->argument[0], "true or false", value);
		value->truth = !value->truth;
		return 0;
	}
	if (expr->op == RULES_NEGATE && value->kind == RULES_VALUE_REAL) {
		value->real = -value->real;
		return 0;
	}
	if (value->kind != RULES_VALUE_NUMBER)
		return rules_wrong(scope, expr->argument[0], "a number", value);
	if (expr->op == RULES_COMPLEMENT)
		value->number = ~value->number;
	else if (__builtin_sub_overflow((rules_number)0, value->number, &value->number))
		return overflow(scope, expr);
	return 0;
}

/* ---- and, or ----------------------------------------------------------------------------- */

/* What is missing on one side counts only where the other does not decide. */
static int evaluate_logic(const struct rules_scope_of *scope, const struct rules_expr *expr, struct rules_value *value)
{
	bool decides = expr->op == RULES_OR;
	struct rules_value left;
	int status = rules_evaluate(scope, expr->argument[0], &left);

	if (status < 0)
		return status;
	if (left.kind != RULES_VALUE_BOOL && left.kind != RULES_VALUE_NONE)
		return rules_wrong(scope, expr->argument[0], "true or false", &left);
	*value = left;
	if (left.kind == RULES_VALUE_BOOL && left.truth == decides)
		return 0;
	status = rules_evaluate(scope, expr->argument[1], value);
	if (status < 0)
		return status;
	if (value->kind != RULES_VALUE_BOOL && value->kind != RULES_VALUE_NONE)
		return rules_wrong(scope, expr->argument[1], "true or false", value);
	if (left.kind == RULES_VALUE_NONE && !(value->kind == RULES_VALUE_BOOL && value->truth == decides))
		*value = left;
	return 0;
}

/* ---- comparisons ------------------------------------------------------------------------- */

static double real_of(const struct rules_value *value)
{
	return value->kind == RULES_VALUE_REAL ? value->real : (double)value->number;
}

static bool is_number(const struct rules_value *value)
{
	return value->kind == RULES_VALUE_NUMBER || value->kind == RULES_VALUE_REAL;
}

static int compare_texts(const struct rules_value *a, const struct rules_value *b)
{
	size_t size = a->size < b->size ? a->size : b->size;
	int order = size ? memcmp(a->text, b->text, size) : 0;

	return order ? order : (a->size > b->size) - (a->size < b->size);
}

static bool holds(enum rules_op op, bool less, bool equal, bool greater)
{
	switch (op) {
	case RULES_EQUAL:
		return equal;
	case RULES_UNEQUAL:
		return !equal;
	case RULES_LESS:
		return less;
	case RULES_LESS_EQUAL:
		return less || equal;
	case RULES_GREATER:
		return greater;
	default:
		return greater || equal;
	}
}

static int compare(const struct rules_scope_of *scope, const struct rules_expr *expr, const struct rules_value *a,
		   const struct rules_value *b, struct rules_value *value)
{
	enum rules_op op = expr->op;
	bool truth;

	if (a->kind == RULES_VALUE_NUMBER && b->kind == RULES_VALUE_NUMBER) {
		truth = holds(op, a->number<b->number, a->number == b->number, a->number> b->number);
	} else if (is_number(a) && is_number(b)) {
		double x = real_of(a), y = real_of(b);

		truth = holds(op, x < y, x <= y && x >= y, x > y);
	} else if (a->kind == RULES_VALUE_TEXT && b->kind == RULES_VALUE_TEXT) {
		int order = compare_texts(a, b);

		truth = holds(op, order<0, order == 0, order> 0);
	} else if (a->kind == RULES_VALUE_BOOL && b->kind == RULES_VALUE_BOOL &&
		   (op == RULES_EQUAL || op == RULES_UNEQUAL)) {
		truth = (a->truth == b->truth) == (op == RULES_EQUAL);
	} else {
		return rules_wrong(scope, expr->argument[1],
				   a->kind == RULES_VALUE_BOOL ? "true or false with == or !="
				   : is_number(a)              ? "a number to compare with"
							       : "a text to compare with",
				   b);
	}
	*value = (struct rules_value){.kind = RULES_VALUE_BOOL, .truth = truth};
	return 0;
}

static int like(const struct rules_scope_of *scope, const struct rules_expr *expr, const struct rules_value *a,
		const struct rules_value *b, struct rules_value *value)
{
	const char *pattern;

	if (a->kind != RULES_VALUE_TEXT)
		return rules_wrong(scope, expr->argument[0], "a text", a);
	if (b->kind != RULES_VALUE_TEXT)
		return rules_wrong(scope, expr->argument[1], "a pattern", b);
	pattern = rules_copy(scope->scratch, b->text, b->size);
	if (!pattern)
		return PTL_NO_MEMORY;
	*value = (struct rules_value){.kind = RULES_VALUE_BOOL, .truth = rules_glob(pattern, a->text, a->size, NULL)};
	return 0;
}

/* ---- arithmetic -------------------------------------------------------------------------- */

static int join(const struct rules_scope_of *scope, const struct rules_value *a, const struct rules_value *b,
		struct rules_value *value)
{
	char *text = rules_alloc(scope->scratch, a->size + b->size + 1);

	if (!text)
		return PTL_NO_MEMORY;
	if (a->size)
		memcpy(text, a->text, a->size);
	if (b->size)
		memcpy(text + a->size, b->text, b->size);
	*value = (struct rules_value){.kind = RULES_VALUE_TEXT, .text = text, .size = a->size + b->size};
	return 0;
}

/* False for an operator that broken numbers do not have. */
static bool compute_real(enum rules_op op, double a, double b, double *result)
{
	switch (op) {
	case RULES_ADD:
		*result = a + b;
		return true;
	case RULES_SUBTRACT:
		*result = a - b;
		return true;
	case RULES_MULTIPLY:
		*result = a * b;
		return true;
	case RULES_DIVIDE:
		*result = a / b;
		return true;
	default:
		return false;
	}
}

/* True where the result leaves 127 bits. Shifts by more than that are checked before. */
static bool compute(enum rules_op op, rules_number a, rules_number b, rules_number *result)
{
	switch (op) {
	case RULES_ADD:
		return __builtin_add_overflow(a, b, result);
	case RULES_SUBTRACT:
		return __builtin_sub_overflow(a, b, result);
	case RULES_MULTIPLY:
		return __builtin_mul_overflow(a, b, result);
	case RULES_DIVIDE:
		if (b == -1)
			return __builtin_sub_overflow((rules_number)0, a, result);
		*result = a / b;
		return false;
	case RULES_REMAINDER:
		*result = b == -1 ? 0 : a % b;
		return false;
	case RULES_BIT_AND:
		*result = a & b;
		return false;
	case RULES_BIT_OR:
		*result = a | b;
		return false;
	case RULES_BIT_XOR:
		*result = a ^ b;
		return false;
	case RULES_SHIFT_LEFT:
		return __builtin_mul_overflow(a, (rules_number)1 << b, result);
	default:
		*result = a >> b;
		return false;
	}
}

static int calculate(const struct rules_scope_of *scope, const struct rules_expr *expr, const struct rules_value *a,
		     const struct rules_value *b, struct rules_value *value)
{
	enum rules_op op = expr->op;
	bool shift = op == RULES_SHIFT_LEFT || op == RULES_SHIFT_RIGHT;
	bool divides = op == RULES_DIVIDE || op == RULES_REMAINDER;

	if (op == RULES_ADD && a->kind == RULES_VALUE_TEXT && b->kind == RULES_VALUE_TEXT)
		return join(scope, a, b, value);
	if (!is_number(a))
		return rules_wrong(scope, expr->argument[0], "a number", a);
	if (!is_number(b))
		return rules_wrong(scope, expr->argument[1], "a number", b);
	if (a->kind == RULES_VALUE_REAL || b->kind == RULES_VALUE_REAL) {
		double result;

		if (!compute_real(op, real_of(a), real_of(b), &result))
			return rules_wrong(scope, expr->argument[a->kind == RULES_VALUE_REAL ? 0 : 1], "a whole number",
					   a->kind == RULES_VALUE_REAL ? a : b);
		*value = (struct rules_value){.kind = RULES_VALUE_REAL, .real = result};
		return 0;
	}
	if (divides && !b->number)
		return rules_fail_at(scope->rules, expr->argument[1]->at,
				     "expected a number other than 0 to divide by, found 0");
	if (shift && (b->number < 0 || b->number > 126))
		return rules_fail_at(scope->rules, expr->argument[1]->at,
				     "expected a shift by 0 to 126, found another number");
	*value = (struct rules_value){.kind = RULES_VALUE_NUMBER};
	return compute(op, a->number, b->number, &value->number) ? overflow(scope, expr) : 0;
}

static int evaluate_binary(const struct rules_scope_of *scope, const struct rules_expr *expr, struct rules_value *value)
{
	struct rules_value a, b;
	int status = rules_evaluate(scope, expr->argument[0], &a);

	if (!status)
		status = rules_evaluate(scope, expr->argument[1], &b);
	if (status < 0)
		return status;
	if (a.kind == RULES_VALUE_NONE || b.kind == RULES_VALUE_NONE) {
		*value = (struct rules_value){0};
		return 0;
	}
	if (expr->op == RULES_LIKE)
		return like(scope, expr, &a, &b, value);
	if (expr->op >= RULES_EQUAL && expr->op <= RULES_GREATER_EQUAL)
		return compare(scope, expr, &a, &b, value);
	return calculate(scope, expr, &a, &b, value);
}

/* ---- loops ------------------------------------------------------------------------------- */

bool rules_next_element(const struct rules_scope_of *scope, const struct rules_loop *loop, uint32_t count,
			uint32_t *next, int *status)
{
	if (*status < 0 || *next == count)
		return false;
	if (scope->loops->steps++ == RULES_LOOP_STEPS_MAX) {
		*status = rules_fail_at(scope->rules, loop->at,
					"expected loops of at most %u steps for an event, found "
					"more",
					RULES_LOOP_STEPS_MAX);
		return false;
	}
	scope->loops->at[loop->slot] = (*next)++;
	return true;
}

/* An element of which the question makes no sense is one of which it is not true. */
static int evaluate_each(const struct rules_scope_of *scope, const struct rules_expr *expr, struct rules_value *value)
{
	const struct rules_expr *asked = expr->argument[0];
	uint32_t count, next = 0, found = 0;
	bool there;
	int status = scope->elements(scope->context, expr->loop.array, &count, &there);

	*value = (struct rules_value){0};
	if (status < 0 || !there)
		return status;
	while (rules_next_element(scope, &expr->loop, count, &next, &status)) {
		struct rules_value item;

		status = rules_evaluate(scope, asked, &item);
		if (!status && item.kind != RULES_VALUE_BOOL && item.kind != RULES_VALUE_NONE)
			status = rules_wrong(scope, asked, "true or false", &item);
		if (status < 0)
			return status;
		found += item.kind == RULES_VALUE_BOOL && item.truth;
		if (expr->op != RULES_COUNT && (expr->op == RULES_ANY) == (found == next))
			break;
	}
	*value = (struct rules_value){.kind = RULES_VALUE_BOOL,
				      .truth = expr->op == RULES_ANY ? found : found == count};
	if (expr->op == RULES_COUNT)
		*value = (struct rules_value){.kind = RULES_VALUE_NUMBER, .number = found};
	return status;
}

int rules_evaluate(const struct rules_scope_of *scope, const struct rules_expr *expr, struct rules_value *value)
{
	switch (expr->op) {
	case RULES_LOOP:
		*value = (struct rules_value){.kind = RULES_VALUE_NUMBER, .number = scope->loops->at[expr->loop.slot]};
		return 0;
	case RULES_ANY:
	case RULES_ALL:
	case RULES_COUNT:
		return evaluate_each(scope, expr, value);
	case RULES_NUMBER:
		*value = (struct rules_value){.kind = RULES_VALUE_NUMBER, .number = expr->number};
		return 0;
	case RULES_PID:
		*value = (struct rules_value){.kind = RULES_VALUE_NUMBER, .number = scope->pid};
		return 0;
	case RULES_REAL:
		*value = (struct rules_value){.kind = RULES_VALUE_REAL, .real = expr->real};
		return 0;
	case RULES_TEXT:
		*value = (struct rules_value){.kind = RULES_VALUE_TEXT, .text = expr->text, .size = expr->text_size};
		return 0;
	case RULES_BOOL:
		*value = (struct rules_value){.kind = RULES_VALUE_BOOL, .truth = expr->truth};
		return 0;
	case RULES_FIELD:
		return scope->field(scope->context, expr->index, value);
	case RULES_HEADER:
		return rules_header_value(scope, (enum rules_header)expr->index, value);
	case RULES_CALL:
		return rules_call(scope, expr, value);
	case RULES_NOT:
	case RULES_NEGATE:
	case RULES_COMPLEMENT:
		return evaluate_unary(scope, expr, value);
	case RULES_OR:
	case RULES_AND:
		return evaluate_logic(scope, expr, value);
	default:
		return evaluate_binary(scope, expr, value);
	}
}

/* ---- what must be of a kind -------------------------------------------------------------- */

int rules_evaluate_number(const struct rules_scope_of *scope, const struct rules_expr *expr, uint64_t last,
			  uint64_t otherwise, uint64_t *number)
{
	struct rules_value value;
	int status;

	*number = otherwise;
	if (!expr)
		return 0;
	if (rules_quick_number(scope, expr, &value.number) && value.number >= 0 && value.number <= (rules_number)last) {
		*number = (uint64_t)value.number;
		return 0;
	}
	status = rules_evaluate(scope, expr, &value);
	if (status < 0)
		return status;
	if (value.kind != RULES_VALUE_NUMBER)
		return rules_wrong(scope, expr, "a number", &value);
	if (value.number < 0 || value.number > (rules_number)last)
		return rules_fail_at(scope->rules, expr->at, "expected a number of 0 to %llu, found another",
				     (unsigned long long)last);
	*number = (uint64_t)value.number;
	return 0;
}

int rules_evaluate_text(const struct rules_scope_of *scope, const struct rules_expr *expr, const char *otherwise,
			const char **text)
{
	struct rules_value value;
	int status;

	*text = otherwise;
	if (!expr)
		return 0;
	status = rules_evaluate(scope, expr, &value);
	if (status < 0)
		return status;
	if (value.kind != RULES_VALUE_TEXT)
		return rules_wrong(scope, expr, "a text", &value);
	if (value.size && memchr(value.text, 0, value.size))
		return rules_fail_at(scope->rules, expr->at, "expected a text without a zero byte, found one with it");
	*text = rules_copy(scope->scratch, value.text, value.size);
	return *text ? 0 : PTL_NO_MEMORY;
}
