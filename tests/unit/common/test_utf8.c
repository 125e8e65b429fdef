/* SPDX-License-Identifier: BSD-2-Clause */
/* Characters of UTF-8: all of them come back; what is none is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/utf8.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_character_comes_back),
		cmocka_unit_test(what_is_no_character_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
