/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests text in XML and CSV, also with hostile bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "common/text/text.h"
#include "dump/print/markup.h"

static void xml(void **state)
{
	static const char words[] = "<a b='\"'>&\t\r\n\0\x1b\xff\xed\xa0\x80\xef\xbf\xbf\xc3\xa4";
	struct ptl_bytes text = {0};

	(void)state;
	dump_text_xml(&text, words, sizeof(words) - 1);
	assert_string_equal(common_text_string(&text),
			    "&lt;a b=&apos;&quot;&apos;&gt;&amp;&#9;&#13;&#10;\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
			    "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xc3\xa4");
	common_bytes_free(&text);
}

static void expect_csv(const char *words, size_t size, const char *expected)
{
	struct ptl_bytes text = {0};

	dump_text_csv(&text, words, size);
	assert_string_equal(common_text_string(&text), expected);
	common_bytes_free(&text);
}

static void csv(void **state)
{
	(void)state;
	expect_csv("", 0, "");
	expect_csv("plain words", 11, "plain words");
	expect_csv("a,b", 3, "\"a,b\"");
	expect_csv("say \"hi\"", 8, "\"say \"\"hi\"\"\"");
	expect_csv("two\nlines", 9, "\"two\nlines\"");
	expect_csv(" blank", 6, "\" blank\"");
	expect_csv("\xff", 1, "\xef\xbf\xbd");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(xml),
		cmocka_unit_test(csv),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
