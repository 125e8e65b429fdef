/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the decompressors of .etl files with the examples of [MS-XCA] and with invalid inputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <ptl/error.h>

#include "import/etl/file/expand.h"
#include "import/etl/file/layout.h"
#include "import/etl/path.h"
#include "import/etl/schema/xml.h"

/* Memory of the exact size, so that a sanitizer sees a write beyond the end. */
static int expand(unsigned kind, const void *from, size_t size, size_t room, char **text, size_t *made)
{
	*text = calloc(1, room + 1);
	assert_non_null(*text);
	return etl_expand(kind, from, size, (uint8_t *)*text, room, made);
}

static void expect(unsigned kind, const void *from, size_t size, const char *expected)
{
	size_t made;
	char *text;

	assert_int_equal(expand(kind, from, size, strlen(expected), &text, &made), 0);
	assert_int_equal(made, strlen(expected));
	assert_string_equal(text, expected);
	free(text);
	/* With less room, the output is cut. */
	for (size_t room = 0; room < strlen(expected); room++) {
		assert_int_equal(expand(kind, from, size, room, &text, &made), 0);
		assert_int_equal(made, room);
		assert_memory_equal(text, expected, room);
		free(text);
	}
	/* Truncated input gives no more output, and may be an error. */
	for (size_t less = 0; less < size; less++) {
		expand(kind, from, less, strlen(expected), &text, &made);
		assert_true(made <= strlen(expected));
		free(text);
	}
}

static char *repeated(const char *text, unsigned count)
{
	char *made = calloc(count, strlen(text) + 1);

	assert_non_null(made);
	for (unsigned i = 0; i < count; i++)
		memcpy(made + i * strlen(text), text, strlen(text));
	return made;
}

static void examples_of_lznt1(void **state)
{
	static const uint8_t song[] = {
		0x38, 0xb0, 0x88, 0x46, 0x23, 0x20, 0x00, 0x20, 0x47, 0x20, 0x41, 0x00, 0x10, 0xa2, 0x47,
		0x01, 0xa0, 0x45, 0x20, 0x44, 0x00, 0x08, 0x45, 0x01, 0x50, 0x79, 0x00, 0xc0, 0x45, 0x20,
		0x05, 0x24, 0x13, 0x88, 0x05, 0xb4, 0x02, 0x4a, 0x44, 0xef, 0x03, 0x58, 0x02, 0x8c, 0x09,
		0x16, 0x01, 0x48, 0x45, 0x00, 0xbe, 0x00, 0x9e, 0x00, 0x04, 0x01, 0x18, 0x90, 0x00,
	};

	(void)state;
	expect(ETL_COMPRESSION_LZNT1, song, sizeof(song),
	       "F# F# G A A G F# E D D E F# F# E E F# F# G A A G F# E D D E F# E D D E E F# D E F# G F# D E F# G F# E "
	       "D E A F# F# G A A G F# E D D E F# E D D");
}

static void examples_of_xpress(void **state)
{
	static const uint8_t alphabet[] = "\x3f\0\0\0abcdefghijklmnopqrstuvwxyz";
	static const uint8_t threes[] = {0xff, 0xff, 0xff, 0x1f, 'a', 'b', 'c', 0x17, 0x00, 0x0f, 0xff, 0x26, 0x01};
	char *abc = repeated("abc", 100);

	(void)state;
	expect(ETL_COMPRESSION_XPRESS, alphabet, sizeof(alphabet) - 1, "abcdefghijklmnopqrstuvwxyz");
	expect(ETL_COMPRESSION_XPRESS, threes, sizeof(threes), abc);
	free(abc);
}

static void examples_of_huffman(void **state)
{
	uint8_t threes[256 + 7] = {[0x30] = 0x30, [0x31] = 0x23, [0x80] = 0x02, [0x8f] = 0x20, [256] = 0xa8, 0xdc,
				   0x00,          0x00,          0xff,          0x26,          0x01};
	/* Symbols of 5 and 4 bits: a to u, v to z and the end. */
	uint8_t alphabet[256 + 20] = {
		[0x30] = 0x50, [0x3b] = 0x45, [0x3c] = 0x44, [0x3d] = 0x04, [0x80] = 0x04, [256] = 0xd8, 0x52,
		0x3e,          0xd7,          0x94,          0x11,          0x5b,          0xe9,         0x19,
		0x5f,          0xf9,          0xd6,          0x7c,          0xdf,          0x8d,         0x04,
	};
	char *abc = repeated("abc", 100);

	(void)state;
	memset(alphabet + 0x31, 0x55, 0x3b - 0x31);
	expect(ETL_COMPRESSION_XPRESS_HUFFMAN, alphabet, sizeof(alphabet), "abcdefghijklmnopqrstuvwxyz");
	expect(ETL_COMPRESSION_XPRESS_HUFFMAN, threes, sizeof(threes), abc);
	free(abc);
}

static void what_contradicts_itself_is_corrupt(void **state)
{
	static const uint8_t far[] = {0x02, 0xb0, 0x01, 0x00, 0x00}, long_chunk[] = {0xff, 0xbf, 0x00};
	static const uint8_t before[] = {0xff, 0xff, 0xff, 0xff, 0x00, 0x00};
	uint8_t full[260] = {0}, few[260] = {[0] = 0x01};
	size_t made;
	char *text;

	(void)state;
	memset(full, 0x11, 256);
	assert_int_equal(expand(ETL_COMPRESSION_LZNT1, far, sizeof(far), 10, &text, &made), PTL_CORRUPT);
	free(text);
	assert_int_equal(expand(ETL_COMPRESSION_LZNT1, long_chunk, sizeof(long_chunk), 10, &text, &made), PTL_CORRUPT);
	free(text);
	assert_int_equal(expand(ETL_COMPRESSION_XPRESS, before, sizeof(before), 10, &text, &made), PTL_CORRUPT);
	free(text);
	assert_int_equal(expand(ETL_COMPRESSION_XPRESS_HUFFMAN, full, sizeof(full), 10, &text, &made), PTL_CORRUPT);
	free(text);
	assert_int_equal(expand(ETL_COMPRESSION_XPRESS_HUFFMAN, few, sizeof(few), 10, &text, &made), PTL_CORRUPT);
	free(text);
	assert_int_equal(expand(7, few, sizeof(few), 10, &text, &made), PTL_UNSUPPORTED);
	free(text);
}

/* ---- XML ------------------------------------------------------------------------------------------------ */

static void tags_and_attributes(void **state)
{
	static const char text[] =
		"<?xml?><!-- <no/> --><a:b x='1>2' y = \"&lt;&#65;&#x42;&bad;\"><c/></a:b><![CDATA[<d>]]>";
	struct etl_xml xml = {text, sizeof(text) - 1, 0};
	struct etl_slice value;
	struct ptl_bytes out = {0};
	struct etl_tag tag;

	(void)state;
	assert_true(etl_xml_next(&xml, &tag));
	assert_true(etl_tag_is(&tag, "b") && !tag.closes && !tag.empty);
	assert_true(etl_tag_attribute(&tag, "x", &value));
	assert_memory_equal(value.text, "1>2", 3);
	assert_true(etl_tag_attribute(&tag, "y", &value));
	etl_xml_text(value, &out);
	common_write_le(&out, 0, 1);
	assert_string_equal((const char *)out.data, "<AB&bad;");
	common_bytes_free(&out);
	assert_false(etl_tag_attribute(&tag, "z", &value));
	assert_true(etl_xml_next(&xml, &tag));
	assert_true(etl_tag_is(&tag, "c") && tag.empty);
	assert_true(etl_xml_next(&xml, &tag));
	assert_true(etl_tag_is(&tag, "b") && tag.closes);
	assert_false(etl_xml_next(&xml, &tag));
}

/* ---- names of devices -------------------------------------------------------------------------------------- */

static void longest_name_of_a_device_counts(void **state)
{
	static const uint8_t volume[] = "\\\0D\0\\\0\0\0C\0:\0\\\0\0\0",
			     deeper[] = "\\\0D\0\\\0e\0\\\0\0\0E\0:\0\\\0\0\0";
	static const uint8_t path[] = "\\\0d\0\\\0E\0\\\0f\0";
	struct etl_paths paths = {.count = 0};
	struct ptl_bytes out = {0};

	(void)state;
	assert_int_equal(etl_paths_add(&paths, volume, sizeof(volume) - 1), 0);
	assert_int_equal(etl_paths_add(&paths, deeper, sizeof(deeper) - 1), 0);
	assert_int_equal(etl_paths_add(&paths, volume, 3), 0);
	assert_int_equal(paths.count, 2);
	etl_paths_write(&paths, path, 6, &out);
	assert_int_equal(out.size, 8);
	assert_memory_equal(out.data, "E\0:\0\\\0f\0", 8);
	common_bytes_free(&out);
	etl_paths_free(&paths);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(examples_of_lznt1),   cmocka_unit_test(examples_of_xpress),
		cmocka_unit_test(examples_of_huffman), cmocka_unit_test(what_contradicts_itself_is_corrupt),
		cmocka_unit_test(tags_and_attributes), cmocka_unit_test(longest_name_of_a_device_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
