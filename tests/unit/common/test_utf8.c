/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests characters of UTF-8: every character is read back; invalid bytes are reported. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <wchar.h>
#include <cmocka.h>

#include "common/text/utf8.h"

static void every_character_comes_back(void **state)
{
	struct ptl_bytes text = {0};
	uint32_t back;

	(void)state;
	for (uint32_t character = 0; character <= 0x10ffff; character++) {
		const size_t length = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
		const bool surrogate = character >= 0xd800 && character < 0xe000;

		text.size = 0;
		common_utf8_write(&text, character);
		assert_int_equal(text.size, length);
		if (surrogate) {
			assert_int_equal(common_utf8_read(text.data, text.size, &back), 0);
			continue;
		}
		assert_int_equal(common_utf8_read(text.data, text.size, &back), length);
		assert_int_equal(back, character);
		assert_int_equal(common_utf8_read(text.data, text.size - 1, &back), 0);
	}
	text.size = 0;
	common_utf8_write(&text, 0x110000);
	assert_memory_equal(text.data, "\xef\xbf\xbd", 3);
	common_bytes_free(&text);
}

static void what_is_no_character_is_told(void **state)
{
	static const char *const wrong[] = {
		"\x80",
		"\xbf",
		"\xc0\x80",
		"\xc1\xbf",
		"\xc2",
		"\xc2\x41",
		"\xe0\x80\x80",
		"\xe0\x9f\xbf",
		"\xed\xa0\x80",
		"\xed\xbf\xbf",
		"\xe2\x82",
		"\xf0\x80\x80\x80",
		"\xf0\x8f\xbf\xbf",
		"\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80",
		"\xf8\x88\x80\x80\x80",
		"\xff",
		"\xf0\x9f\x98",
	};
	uint32_t character;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(common_utf8_read((const uint8_t *)wrong[i], strlen(wrong[i]), &character), 0);
	assert_int_equal(common_utf8_read((const uint8_t *)"a", 0, &character), 0);
}

static void fits(void **state)
{
	(void)state;
	assert_int_equal(common_utf8_fit("abc", 3, 3), 3);
	assert_int_equal(common_utf8_fit("abc", 3, 2), 2);
	assert_int_equal(common_utf8_fit("", 0, 0), 0);
	assert_int_equal(common_utf8_fit("a\xc3\xa9", 3, 2), 1);
	assert_int_equal(common_utf8_fit("a\xf0\x9f\x98\x80", 5, 4), 1);
	assert_int_equal(common_utf8_fit("a\xf0\x9f\x98\x80z", 6, 5), 5);
	/* Invalid UTF-8 is cut anywhere. */
	assert_int_equal(common_utf8_fit("a\x80\x80\x80\x80\x80", 6, 5), 5);
	assert_int_equal(common_utf8_fit("\x80\x80\x80", 3, 2), 2);
}

/* Compares widths with the C library, whose Unicode version may be newer: a few characters may differ. */
static void widths(void **state)
{
	const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	const locale_t before = locale ? uselocale(locale) : (locale_t)0;
	size_t known = 0, differ = 0, wide = 0, none = 0;

	(void)state;
	assert_true(common_utf8_width('a') == 1 && common_utf8_width(0xe4) == 1 && common_utf8_width(0x5c71) == 2);
	assert_true(common_utf8_width(0x301) == 0 && common_utf8_width(0x200d) == 0 && common_utf8_width(0x1f600) == 2);
	assert_true(common_utf8_width(0xd55c) == 2 && common_utf8_width(0xff21) == 2 && common_utf8_width(0xff71) == 1);
	if (!locale)
		skip();
	for (uint32_t c = 0x20; c <= 0x10ffff; c++) {
		const int width = c >= 0xd800 && c < 0xe000 ? -1 : wcwidth((wchar_t)c);

		if (width < 0)
			continue;
		known++;
		wide += width == 2;
		none += width == 0;
		differ += common_utf8_width(c) != (unsigned)width;
	}
	assert_true(wide > 10000 && none > 1000);
	if (differ * 1000 > known)
		fail_msg("%zu of %zu characters differ from the C library's", differ, known);
	uselocale(before);
	freelocale(locale);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_character_comes_back),
		cmocka_unit_test(what_is_no_character_is_told),
		cmocka_unit_test(fits),
		cmocka_unit_test(widths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
