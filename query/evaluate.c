/* SPDX-License-Identifier: BSD-2-Clause */
/* Evaluates the tree of an expression. Numbers are exact. */
#include "query/evaluate.h"

#include <string.h>

#include "query/evaluate_quick.h"
#include "query/functions.h"
#include "query/glob.h"
#include "query/value_names.h"

int query_wrong(const struct query_scope *scope, const struct query_expr *expr, const char *expected,
		const struct query_value *found)
{
	return query_fail_at(scope->name, expr->at, "expected %s, found %s", expected, query_value_name(found));
}

static int overflow(const struct query_scope *scope, const struct query_expr *expr)
{
	return query_fail_at(scope->name, expr->at, "expected a number of at most 127 bits, found more");
}

/* ---- unary operators --------------------------------------------------------------------- */

static int evaluate_unary(const struct query_scope *scope, const struct query_expr *expr, struct query_value *value)
{
	int status = query_evaluate(scope, expr->argument[0], value);

	if (status < 0 || value->kind == QUERY_VALUE_NONE)
		return status;
	if (expr->op == QUERY_NOT) {
		if (value->kind != QUERY_VALUE_BOOL)
			return query_wrong(scope, expr->argument[0], "true or false", value);
		value->truth = !value->truth;
		return 0;
	}
	if (expr->op == QUERY_NEGATE && value->kind == QUERY_VALUE_REAL) {
		value->real = -value->real;
		return 0;
	}
	if (value->kind != QUERY_VALUE_NUMBER)
		return query_wrong(scope, expr->argument[0], "a number", value);
	if (expr->op == QUERY_COMPLEMENT)
		value->number = ~value->number;
	else if (__builtin_sub_overflow((query_number)0, value->number, &value->number))
		return overflow(scope, expr);
	return 0;
}

/* ---- and, or ----------------------------------------------------------------------------- */

/* A missing value on one side matters only if the other side does not decide. */
static int evaluate_logic(const struct query_scope *scope, const struct query_expr *expr, struct query_value *value)
{
	bool decides = expr->op == QUERY_OR;
	struct query_value left;
	int status = query_evaluate(scope, expr->argument[0], &left);

	if (status < 0)
		return status;
	if (left.kind != QUERY_VALUE_BOOL && left.kind != QUERY_VALUE_NONE)
		return query_wrong(scope, expr->argument[0], "true or false", &left);
	*value = left;
	if (left.kind == QUERY_VALUE_BOOL && left.truth == decides)
		return 0;
	status = query_evaluate(scope, expr->argument[1], value);
	if (status < 0)
		return status;
	if (value->kind != QUERY_VALUE_BOOL && value->kind != QUERY_VALUE_NONE)
		return query_wrong(scope, expr->argument[1], "true or false", value);
	if (left.kind == QUERY_VALUE_NONE && !(value->kind == QUERY_VALUE_BOOL && value->truth == decides))
		*value = left;
	return 0;
}

/* ---- comparisons ------------------------------------------------------------------------- */

static double real_of(const struct query_value *value)
{
	return value->kind == QUERY_VALUE_REAL ? value->real : (double)value->number;
}

static bool is_number(const struct query_value *value)
{
	return value->kind == QUERY_VALUE_NUMBER || value->kind == QUERY_VALUE_REAL;
}

static int compare_texts(const struct query_value *a, const struct query_value *b)
{
	size_t size = a->size < b->size ? a->size : b->size;
	int order = size ? memcmp(a->text, b->text, size) : 0;

	return order ? order : (a->size > b->size) - (a->size < b->size);
}

static bool comparison_holds(enum query_op op, bool less, bool equal, bool greater)
{
	switch (op) {
	case QUERY_EQUAL:
		return equal;
	case QUERY_UNEQUAL:
		return !equal;
	case QUERY_LESS:
		return less;
	case QUERY_LESS_EQUAL:
		return less || equal;
	case QUERY_GREATER:
		return greater;
	default:
		return greater || equal;
	}
}

static int compare_values(const struct query_scope *scope, const struct query_expr *expr, const struct query_value *a,
			  const struct query_value *b, struct query_value *value)
{
	enum query_op op = expr->op;
	bool truth;

	if (a->kind == QUERY_VALUE_NUMBER && b->kind == QUERY_VALUE_NUMBER) {
		truth = comparison_holds(op, a->number<b->number, a->number == b->number, a->number> b->number);
	} else if (is_number(a) && is_number(b)) {
		double x = real_of(a), y = real_of(b);

		truth = comparison_holds(op, x < y, x <= y && x >= y, x > y);
	} else if (a->kind == QUERY_VALUE_TEXT && b->kind == QUERY_VALUE_TEXT) {
		int order = compare_texts(a, b);

		truth = comparison_holds(op, order<0, order == 0, order> 0);
	} else if (a->kind == QUERY_VALUE_BOOL && b->kind == QUERY_VALUE_BOOL &&
		   (op == QUERY_EQUAL || op == QUERY_UNEQUAL)) {
		truth = (a->truth == b->truth) == (op == QUERY_EQUAL);
	} else {
		return query_wrong(scope, expr->argument[1],
				   a->kind == QUERY_VALUE_BOOL ? "true or false with == or !="
				   : is_number(a)              ? "a number to compare with"
							       : "a text to compare with",
				   b);
	}
	*value = (struct query_value){.kind = QUERY_VALUE_BOOL, .truth = truth};
	return 0;
}

static int like(const struct query_scope *scope, const struct query_expr *expr, const struct query_value *a,
		const struct query_value *b, struct query_value *value)
{
	const char *pattern;

	if (a->kind != QUERY_VALUE_TEXT)
		return query_wrong(scope, expr->argument[0], "a text", a);
	if (b->kind != QUERY_VALUE_TEXT)
		return query_wrong(scope, expr->argument[1], "a pattern", b);
	pattern = common_arena_copy(scope->scratch, b->text, b->size);
	if (!pattern)
		return PTL_NO_MEMORY;
	*value = (struct query_value){.kind = QUERY_VALUE_BOOL, .truth = query_glob(pattern, a->text, a->size, NULL)};
	return 0;
}

/* ---- arithmetic -------------------------------------------------------------------------- */

static int join_values(const struct query_scope *scope, const struct query_value *a, const struct query_value *b,
		       struct query_value *value)
{
	char *text = common_arena_zeroed(scope->scratch, a->size + b->size + 1);

	if (!text)
		return PTL_NO_MEMORY;
	if (a->size)
		memcpy(text, a->text, a->size);
	if (b->size)
		memcpy(text + a->size, b->text, b->size);
	*value = (struct query_value){.kind = QUERY_VALUE_TEXT, .text = text, .size = a->size + b->size};
	return 0;
}

/* Computes with reals. Returns false for an operator without a real variant. */
static bool compute_real(enum query_op op, double a, double b, double *result)
{
	switch (op) {
	case QUERY_ADD:
		*result = a + b;
		return true;
	case QUERY_SUBTRACT:
		*result = a - b;
		return true;
	case QUERY_MULTIPLY:
		*result = a * b;
		return true;
	case QUERY_DIVIDE:
		*result = a / b;
		return true;
	default:
		return false;
	}
}

/* Computes with whole numbers. Returns true if the result exceeds 127 bits. Callers check the range of shifts. */
static bool compute(enum query_op op, query_number a, query_number b, query_number *result)
{
	switch (op) {
	case QUERY_ADD:
		return __builtin_add_overflow(a, b, result);
	case QUERY_SUBTRACT:
		return __builtin_sub_overflow(a, b, result);
	case QUERY_MULTIPLY:
		return __builtin_mul_overflow(a, b, result);
	case QUERY_DIVIDE:
		if (b == -1)
			return __builtin_sub_overflow((query_number)0, a, result);
		*result = a / b;
		return false;
	case QUERY_REMAINDER:
		*result = b == -1 ? 0 : a % b;
		return false;
	case QUERY_BIT_AND:
		*result = a & b;
		return false;
	case QUERY_BIT_OR:
		*result = a | b;
		return false;
	case QUERY_BIT_XOR:
		*result = a ^ b;
		return false;
	case QUERY_SHIFT_LEFT:
		return __builtin_mul_overflow(a, (query_number)1 << b, result);
	default:
		*result = a >> b;
		return false;
	}
}

static int calculate(const struct query_scope *scope, const struct query_expr *expr, const struct query_value *a,
		     const struct query_value *b, struct query_value *value)
{
	enum query_op op = expr->op;
	bool shift = op == QUERY_SHIFT_LEFT || op == QUERY_SHIFT_RIGHT;
	bool divides = op == QUERY_DIVIDE || op == QUERY_REMAINDER;

	if (op == QUERY_ADD && a->kind == QUERY_VALUE_TEXT && b->kind == QUERY_VALUE_TEXT)
		return join_values(scope, a, b, value);
	if (!is_number(a))
		return query_wrong(scope, expr->argument[0], "a number", a);
	if (!is_number(b))
		return query_wrong(scope, expr->argument[1], "a number", b);
	if (a->kind == QUERY_VALUE_REAL || b->kind == QUERY_VALUE_REAL) {
		double result;

		if (!compute_real(op, real_of(a), real_of(b), &result))
			return query_wrong(scope, expr->argument[a->kind == QUERY_VALUE_REAL ? 0 : 1], "a whole number",
					   a->kind == QUERY_VALUE_REAL ? a : b);
		*value = (struct query_value){.kind = QUERY_VALUE_REAL, .real = result};
		return 0;
	}
	if (divides && !b->number)
		return query_fail_at(scope->name, expr->argument[1]->at,
				     "expected a number other than 0 to divide by, found 0");
	if (shift && (b->number < 0 || b->number > 126))
		return query_fail_at(scope->name, expr->argument[1]->at,
				     "expected a shift by 0 to 126, found another number");
	*value = (struct query_value){.kind = QUERY_VALUE_NUMBER};
	return compute(op, a->number, b->number, &value->number) ? overflow(scope, expr) : 0;
}

static int evaluate_binary(const struct query_scope *scope, const struct query_expr *expr, struct query_value *value)
{
	struct query_value a, b;
	int status = query_evaluate(scope, expr->argument[0], &a);

	if (!status)
		status = query_evaluate(scope, expr->argument[1], &b);
	if (status < 0)
		return status;
	if (a.kind == QUERY_VALUE_NONE || b.kind == QUERY_VALUE_NONE) {
		*value = (struct query_value){0};
		return 0;
	}
	if ((a.kind == QUERY_VALUE_NUMBER && b.kind == QUERY_VALUE_TEXT) ||
	    (a.kind == QUERY_VALUE_TEXT && b.kind == QUERY_VALUE_NUMBER))
		status = query_name_values(scope, expr, &a, &b);
	if (status < 0)
		return status;
	if (expr->op == QUERY_LIKE)
		return like(scope, expr, &a, &b, value);
	if (expr->op >= QUERY_EQUAL && expr->op <= QUERY_GREATER_EQUAL)
		return compare_values(scope, expr, &a, &b, value);
	return calculate(scope, expr, &a, &b, value);
}

/* ---- loops ------------------------------------------------------------------------------- */

bool query_next_element(const struct query_scope *scope, const struct query_loop *loop, uint32_t count, uint32_t *next,
			int *status)
{
	if (*status < 0 || *next == count)
		return false;
	if (scope->loops->steps++ == QUERY_LOOP_STEPS_MAX) {
		*status = query_fail_at(scope->name, loop->at,
					"expected loops of at most %u steps for an event, found "
					"more",
					QUERY_LOOP_STEPS_MAX);
		return false;
	}
	scope->loops->at[loop->slot] = (*next)++;
	return true;
}

/* An element that cannot be compared counts as false. */
static int evaluate_each(const struct query_scope *scope, const struct query_expr *expr, struct query_value *value)
{
	const struct query_expr *element_condition = expr->argument[0];
	uint32_t count, next = 0, found = 0;
	bool there;
	int status = scope->elements(scope->context, expr->loop.array, &count, &there);

	*value = (struct query_value){0};
	if (status < 0 || !there)
		return status;
	while (query_next_element(scope, &expr->loop, count, &next, &status)) {
		struct query_value item;

		status = query_evaluate(scope, element_condition, &item);
		if (!status && item.kind != QUERY_VALUE_BOOL && item.kind != QUERY_VALUE_NONE)
			status = query_wrong(scope, element_condition, "true or false", &item);
		if (status < 0)
			return status;
		found += item.kind == QUERY_VALUE_BOOL && item.truth;
		if (expr->op != QUERY_COUNT && (expr->op == QUERY_ANY) == (found == next))
			break;
	}
	*value = (struct query_value){.kind = QUERY_VALUE_BOOL,
				      .truth = expr->op == QUERY_ANY ? found : found == count};
	if (expr->op == QUERY_COUNT)
		*value = (struct query_value){.kind = QUERY_VALUE_NUMBER, .number = found};
	return status;
}

int query_evaluate(const struct query_scope *scope, const struct query_expr *expr, struct query_value *value)
{
	switch (expr->op) {
	case QUERY_LOOP:
		*value = (struct query_value){.kind = QUERY_VALUE_NUMBER, .number = scope->loops->at[expr->loop.slot]};
		return 0;
	case QUERY_CONDITION:
		return scope->condition(scope->context, expr->index, value);
	case QUERY_ANY:
	case QUERY_ALL:
	case QUERY_COUNT:
		return evaluate_each(scope, expr, value);
	case QUERY_NUMBER:
		*value = (struct query_value){.kind = QUERY_VALUE_NUMBER, .number = expr->number};
		return 0;
	case QUERY_PID:
		*value = (struct query_value){.kind = QUERY_VALUE_NUMBER, .number = scope->pid};
		return 0;
	case QUERY_REAL:
		*value = (struct query_value){.kind = QUERY_VALUE_REAL, .real = expr->real};
		return 0;
	case QUERY_TEXT:
		*value = (struct query_value){.kind = QUERY_VALUE_TEXT, .text = expr->text, .size = expr->text_size};
		return 0;
	case QUERY_BOOL:
		*value = (struct query_value){.kind = QUERY_VALUE_BOOL, .truth = expr->truth};
		return 0;
	case QUERY_FIELD:
		return scope->field(scope->context, expr->index, value);
	case QUERY_HEADER:
		return query_header_value(scope, (enum query_header)expr->index, value);
	case QUERY_CALL:
		return query_call(scope, expr, value);
	case QUERY_NOT:
	case QUERY_NEGATE:
	case QUERY_COMPLEMENT:
		return evaluate_unary(scope, expr, value);
	case QUERY_OR:
	case QUERY_AND:
		return evaluate_logic(scope, expr, value);
	default:
		return evaluate_binary(scope, expr, value);
	}
}

/* ---- values of a required kind ----------------------------------------------------------- */

int query_evaluate_truth(const struct query_scope *scope, const struct query_expr *expr, bool *truth)
{
	struct query_value value;
	int status;

	if (query_quick_truth(scope, expr, truth))
		return 0;
	*truth = false;
	status = query_evaluate(scope, expr, &value);
	if (status < 0)
		return status;
	if (value.kind != QUERY_VALUE_BOOL && value.kind != QUERY_VALUE_NONE)
		return query_wrong(scope, expr, "true or false", &value);
	*truth = value.kind == QUERY_VALUE_BOOL && value.truth;
	return 0;
}

int query_evaluate_number(const struct query_scope *scope, const struct query_expr *expr, uint64_t last,
			  uint64_t otherwise, uint64_t *number)
{
	struct query_value value;
	int status;

	*number = otherwise;
	if (!expr)
		return 0;
	if (query_quick_number(scope, expr, &value.number) && value.number >= 0 && value.number <= (query_number)last) {
		*number = (uint64_t)value.number;
		return 0;
	}
	status = query_evaluate(scope, expr, &value);
	if (status < 0)
		return status;
	if (value.kind != QUERY_VALUE_NUMBER)
		return query_wrong(scope, expr, "a number", &value);
	if (value.number < 0 || value.number > (query_number)last)
		return query_fail_at(scope->name, expr->at, "expected a number of 0 to %llu, found another",
				     (unsigned long long)last);
	*number = (uint64_t)value.number;
	return 0;
}

int query_evaluate_text(const struct query_scope *scope, const struct query_expr *expr, const char *otherwise,
			const char **text)
{
	struct query_value value;
	int status;

	*text = otherwise;
	if (!expr)
		return 0;
	status = query_evaluate(scope, expr, &value);
	if (status < 0)
		return status;
	if (value.kind != QUERY_VALUE_TEXT)
		return query_wrong(scope, expr, "a text", &value);
	if (value.size && memchr(value.text, 0, value.size))
		return query_fail_at(scope->name, expr->at, "expected a text without a zero byte, found one with it");
	*text = common_arena_copy(scope->scratch, value.text, value.size);
	return *text ? 0 : PTL_NO_MEMORY;
}
