/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests regular expressions of redaction: matches compared with regexec(3), and refused expressions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <regex.h>

#include <ptl/error.h>

#include "common/error.h"
#include "relog/settings/pattern.h"

/* Searches the text from `from` on. Sets the first byte and the length of the match. */
static bool find(const char *expression, const char *text, size_t from, size_t *first, size_t *length)
{
	struct relog_pattern pattern;
	bool found;

	assert_int_equal(relog_pattern_compile(&pattern, expression), 0);
	found = relog_pattern_find(&pattern, text, strlen(text), from, first, length);
	relog_pattern_free(&pattern);
	return found;
}

static void matches(const char *expression, const char *text, size_t wanted_first, size_t wanted_length)
{
	size_t first, length;

	assert_true(find(expression, text, 0, &first, &length));
	assert_int_equal(first, wanted_first);
	assert_int_equal(length, wanted_length);
}

static void misses(const char *expression, const char *text)
{
	size_t first, length;

	assert_false(find(expression, text, 0, &first, &length));
}

static void finds_the_leftmost_and_longest(void **state)
{
	(void)state;
	matches("ab|abcd|bc", "xabcdx", 1, 4);
	matches("a+", "baaab", 1, 3);
	matches("[0-9]{4}-[0-9]{2}", "on 2024-05-17", 3, 7);
	matches("(x|yz?)*w", "xyyzw", 0, 5);
	matches("[^/]+$", "/home/anna", 6, 4);
	matches("^/[a-z]*", "/home/anna", 0, 5);
	matches("\\<an\\w*\\>", "han anna", 4, 4);
	matches("[[:digit:]_]+", "ab1_2c", 2, 3);
	matches("[]^-]+", "a]-^b", 1, 3);
	matches("a{,2}b", "aaab", 1, 3);
	matches("a{2,}b", "baab", 1, 3);
	matches("\\.so\\.", "lib.so.6", 3, 4);
	matches("b*", "abb", 1, 2); /* empty matches do not count */
	misses("^b", "ab");
	misses("a$", "ab");
	misses("a.c", "ac");
}

static void searches_from_a_place(void **state)
{
	size_t first, length;

	(void)state;
	assert_true(find("an+", "anna ann", 1, &first, &length));
	assert_int_equal(first, 5);
	assert_int_equal(length, 3);
	assert_false(find("^an", "anan", 2, &first, &length));
	assert_false(find("\\<nn", "ann", 1, &first, &length));
}

/* ---- against regexec -------------------------------------------------------------------------------- */

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 16;
}

static void write_random(uint32_t *seed, unsigned depth, char *out, size_t *size)
{
	static const char *const atoms[] = {"a", "b", "c", ".", "[ab]", "[^a]", "ab", "[b-c]", "a", "b"};
	static const char *const repeats[] = {"*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}", "", "", "", "", ""};
	const unsigned parts = 1 + next_random(seed) % 3;

	for (unsigned i = 0; i < parts; i++) {
		const char *repeat = repeats[next_random(seed) % 12];

		if (i && next_random(seed) % 4 == 0)
			out[(*size)++] = '|';
		if (depth && next_random(seed) % 3 == 0) {
			out[(*size)++] = '(';
			write_random(seed, depth - 1, out, size);
			out[(*size)++] = ')';
		} else {
			const char *atom = atoms[next_random(seed) % 10];

			memcpy(out + *size, atom, strlen(atom));
			*size += strlen(atom);
		}
		memcpy(out + *size, repeat, strlen(repeat));
		*size += strlen(repeat);
	}
}

/* Compares with regexec, except for empty matches: regexec returns the leftmost match even if empty. */
static void compare(const char *expression, uint32_t *seed)
{
	struct relog_pattern pattern;
	regex_t judge;

	assert_int_equal(regcomp(&judge, expression, REG_EXTENDED), 0);
	assert_int_equal(relog_pattern_compile(&pattern, expression), 0);
	assert_int_equal(relog_pattern_is_empty(&pattern), regexec(&judge, "", 0, NULL, 0) == 0);
	for (unsigned i = 0; i < 20; i++) {
		size_t size = next_random(seed) % 12, first = 0, length = 0;
		char text[16] = "";
		regmatch_t wanted;
		bool found, there;

		for (size_t k = 0; k < size; k++)
			text[k] = "aabbcd"[next_random(seed) % 6];
		there = regexec(&judge, text, 1, &wanted, 0) == 0;
		found = relog_pattern_find(&pattern, text, size, 0, &first, &length);
		if (there && wanted.rm_so == wanted.rm_eo)
			continue;
		if (found != there ||
		    (found && ((regoff_t)first != wanted.rm_so || (regoff_t)(first + length) != wanted.rm_eo)))
			fail_msg("'%s' in '%s': %d at %zu, %zu bytes", expression, text, found, first, length);
	}
	regfree(&judge);
	relog_pattern_free(&pattern);
}

static void agrees_with_regexec(void **state)
{
	uint32_t seed = 1;

	(void)state;
	for (unsigned i = 0; i < 3000; i++) {
		char expression[1024] = "";
		size_t size = 0;

		write_random(&seed, 2, expression, &size);
		expression[size] = 0;
		compare(expression, &seed);
	}
}

/* ---- bounds ----------------------------------------------------------------------------------------- */

static void refuses(const char *expression, const char *why)
{
	struct relog_pattern pattern;

	assert_int_equal(relog_pattern_compile(&pattern, expression), PTL_MISUSE);
	if (!strstr(ptl_error_text(), why))
		fail_msg("%s", ptl_error_text());
}

static void refuses_what_is_none_or_too_large(void **state)
{
	char deep[600];

	(void)state;
	refuses("(", "a ) is missing");
	refuses(")", "has no (");
	refuses("a|*", "nothing before");
	refuses("[a", "a ] is missing");
	refuses("[", "a ] is missing");
	refuses("[z-a]", "before it begins");
	refuses("[[:letter:]]", "no character class");
	refuses("a{2,1}", "before it begins");
	refuses("a{x}", "expected {m}");
	refuses("a\\", "backslash");
	refuses("(a)\\1", "back-references");
	refuses("regex(((a{1,200}){1,200}){1,200})b", "repeat less");
	refuses("(((){900}){900}){900}", "repeat less");
	refuses("a{2001}", "repeat less");
	refuses("a{99999999999999999999}", "repeat less");
	memset(deep, '(', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = 0;
	refuses(deep, "nested too deeply");
}

/* Each of these expressions takes regexec minutes or gigabytes. */
static void takes_time_with_size_alone(void **state)
{
	static const char *const expressions[] = {"(a|b)*a(a|b){250}c", "((a*)*b*)*c", "(a?){400}c", "((a|b)?){200}c"};
	const size_t size = 1 << 14;
	char *text = malloc(size + 1);
	size_t first, length;
	uint32_t seed = 7;

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < size; i++)
		text[i] = "ab"[next_random(&seed) % 2];
	text[size] = 0;
	for (size_t i = 0; i < sizeof(expressions) / sizeof(expressions[0]); i++)
		assert_false(find(expressions[i], text, 0, &first, &length));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_leftmost_and_longest),
		cmocka_unit_test(searches_from_a_place),
		cmocka_unit_test(agrees_with_regexec),
		cmocka_unit_test(refuses_what_is_none_or_too_large),
		cmocka_unit_test(takes_time_with_size_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
