/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of GUIDs as text and bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/text/guid.h"

static const char kernel_text[] = "9e814aad-3204-11d2-9a82-006008a86939";
static const struct ptl_guid kernel = PTL_GUID(0x9e814aad, 0x3204, 0x11d2, 0x9a82, 0x006008a86939);

/* The first three groups are little-endian in memory, as on Windows. */
static void layout(void **state)
{
	(void)state;
	assert_memory_equal(kernel.bytes, "\xad\x4a\x81\x9e\x04\x32\xd2\x11\x9a\x82\x00\x60\x08\xa8\x69\x39", 16);
}

static void text_round_trip(void **state)
{
	char text[PTL_GUID_TEXT_SIZE];
	struct ptl_guid guid;

	(void)state;
	common_guid_format(&kernel, text);
	assert_string_equal(text, kernel_text);
	assert_true(common_guid_parse(kernel_text, &guid));
	assert_true(common_guid_equal(&guid, &kernel));
	assert_true(common_guid_parse("{9E814AAD-3204-11D2-9A82-006008A86939}", &guid));
	assert_true(common_guid_equal(&guid, &kernel));
}

static void bad_text(void **state)
{
	static const char *const bad[] = {
		"",
		"9e814aad-3204-11d2-9a82-006008a8693",
		"9e814aad-3204-11d2-9a82-006008a869399",
		"9e814aad-3204-11d2-9a82-006008a8693g",
		"9e814aad-3204-11d2-9a82006008a8-6939",
		"9e814aad+3204-11d2-9a82-006008a86939",
		"{9e814aad-3204-11d2-9a82-006008a86939",
		"{9e814aad-3204-11d2-9a82-006008a86939)",
		"9e814aad-3204-11d2-9a82-006008a8693 ",
		"9e814aad 3204-11d2-9a82-006008a86939",
	};
	struct ptl_guid guid = kernel;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(common_guid_parse(bad[i], &guid));
		assert_true(common_guid_equal(&guid, &kernel));
	}
}

static void random_ones(void **state)
{
	struct ptl_guid a, b;
	char text[PTL_GUID_TEXT_SIZE];

	(void)state;
	assert_int_equal(common_guid_random(&a), 0);
	assert_int_equal(common_guid_random(&b), 0);
	assert_false(common_guid_equal(&a, &b));
	common_guid_format(&a, text);
	assert_int_equal(text[14], '4');
	assert_non_null(strchr("89ab", text[19]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layout),
		cmocka_unit_test(text_round_trip),
		cmocka_unit_test(bad_text),
		cmocka_unit_test(random_ones),
	};

	return cmocka_run_group_tests_name("guid", tests, NULL, NULL);
}
