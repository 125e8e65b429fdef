/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests where a text has conditions and other expressions, and their value without an event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "query/condition.h"
#include "query/evaluate.h"

struct parsed {
	struct common_arena arena;
	struct query_fields fields;
	struct query_conditions conditions;
	struct query_expr *expr;
};

static void parse(const char *text, struct parsed *parsed)
{
	*parsed = (struct parsed){0};
	if (query_parse_condition("t", text, &parsed->arena, &parsed->fields, &parsed->conditions, &parsed->expr))
		fail_msg("%s: %s", text, ptl_error_text());
}

/* Counts conditions, and fields outside of conditions. */
static void parts_of_a_text(void **state)
{
	static const struct {
		const char *text;
		size_t conditions, fields;
	} texts[] = {
		{"A == 1", 1, 0},
		{"A==1&&B~*", 2, 0},
		{"A == B", 1, 0},
		{"A == `B`", 0, 2},
		{"A == B + 1", 0, 2},
		{"`A->B` == X", 1, 0},
		{"`A->B` == `C`", 0, 2},
		{"`A->B` + 1 == 2 and `C` ~ x*", 1, 1},
		{"A == (B + 1)", 0, 2},
		{"A == (null)", 1, 0},
		{"A == [x]*", 1, 0},
		{"A[0] == 1", 0, 1},
		{"A & 2", 1, 0},
		{"A & 2 == 2", 0, 1},
		{"A << 2 == 4", 0, 1},
		{"A-B == 1", 1, 0},
		{"A - B == 1", 0, 2},
		{"not A == 1 or (B == x and has(C))", 2, 1},
		{"not == 1", 1, 0},
		{"len(A) == 1 and A == 'x y'", 1, 1},
		{"lower(A) == b/c", 0, 1},
		{"any(i in A, A[i].B == x) || i == 3", 1, 2},
		{"event.level == 3", 0, 0},
		{"event.other == 3", 1, 0},
		{"#x == #y", 1, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct parsed parsed;

		parse(texts[i].text, &parsed);
		if (parsed.conditions.count != texts[i].conditions || parsed.fields.count != texts[i].fields)
			fail_msg("%s: %zu conditions, %zu fields", texts[i].text, parsed.conditions.count,
				 parsed.fields.count);
		common_arena_free(&parsed.arena);
	}
}

static void a_condition_has_its_parts(void **state)
{
	const struct query_condition *list;
	struct parsed parsed;

	(void)state;
	parse(" A.B <= -0x10 && Zo\xc3\xab ~ 'a\\'b' && C != 1.5", &parsed);
	list = parsed.conditions.list;
	assert_string_equal(list[0].field, "A.B");
	assert_int_equal(list[0].test, QUERY_TEST_LESS_EQUAL);
	assert_true(list[0].is_number && !list[0].is_real && list[0].number == -16);
	assert_int_equal(list[0].at.column, 2);
	assert_string_equal(list[1].field, "Zo\xc3\xab");
	assert_int_equal(list[1].test, QUERY_TEST_GLOB);
	assert_string_equal(list[1].text, "a'b");
	assert_false(list[1].is_number);
	assert_int_equal(list[1].at.column, 18);
	assert_int_equal(list[2].at.column, 34);
	assert_true(list[2].is_number && list[2].is_real && list[2].real == 1.5);
	common_arena_free(&parsed.arena);
}

static int nothing_there(void *context, unsigned index, struct query_value *value)
{
	(void)context;
	(void)index;
	*value = (struct query_value){0};
	return 0;
}

/* Tests both spellings of "and" and "or"; missing fields decide nothing. */
static void comes_to(void **state)
{
	static const struct {
		const char *text;
		enum query_value_kind kind;
		bool truth;
	} texts[] = {
		{"1 + 1 < 3 && 2 - 1 < 3", QUERY_VALUE_BOOL, true},
		{"true and 3 + 0 < 2 || true", QUERY_VALUE_BOOL, true},
		{"false || 3 + 0 < 2", QUERY_VALUE_BOOL, false},
		{"\"it's\" == 'it\\'s'", QUERY_VALUE_BOOL, true},
		{"lower('ABC') == abc", QUERY_VALUE_BOOL, true},
		{"A == 1", QUERY_VALUE_NONE, false},
		{"A == 1 or true", QUERY_VALUE_BOOL, true},
		{"not A == 1 and false", QUERY_VALUE_BOOL, false},
		{"not A == 1 and true", QUERY_VALUE_NONE, false},
	};
	struct common_arena scratch = {0};
	const struct query_scope scope = {
		.name = "t", .scratch = &scratch, .field = nothing_there, .condition = nothing_there};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct query_value value;
		struct parsed parsed;

		parse(texts[i].text, &parsed);
		assert_int_equal(query_evaluate(&scope, parsed.expr, &value), 0);
		if (value.kind != texts[i].kind || value.truth != texts[i].truth)
			fail_msg("%s", texts[i].text);
		common_arena_free(&parsed.arena);
	}
	common_arena_free(&scratch);
}

/* Deep and long texts parse in bounded time; too deep texts are an error. */
static void bounds(void **state)
{
	const size_t size = 40000;
	char *text = malloc(size + 1);
	struct parsed parsed = {0};

	(void)state;
	assert_non_null(text);
	memset(text, '(', size);
	text[size] = '\0';
	assert_int_equal(
		query_parse_condition("t", text, &parsed.arena, &parsed.fields, &parsed.conditions, &parsed.expr),
		PTL_CORRUPT);
	assert_non_null(strstr(ptl_error_text(), "nested at most 64 deep"));
	for (size_t i = 0; i < size; i += 4)
		memcpy(text + i, "not ", 4);
	assert_int_equal(
		query_parse_condition("t", text, &parsed.arena, &parsed.fields, &parsed.conditions, &parsed.expr),
		PTL_CORRUPT);
	for (size_t i = 0; i + 6 <= size; i += 6)
		memcpy(text + i, "a==b&&", 6);
	assert_int_equal(
		query_parse_condition("t", text, &parsed.arena, &parsed.fields, &parsed.conditions, &parsed.expr),
		PTL_CORRUPT);
	common_arena_free(&parsed.arena);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_of_a_text),
		cmocka_unit_test(a_condition_has_its_parts),
		cmocka_unit_test(comes_to),
		cmocka_unit_test(bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
