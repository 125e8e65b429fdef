/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of little-endian access, cursors, variable-length integers and byte vectors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/bytes.h"

static void loads_and_stores(void **state)
{
	static const uint8_t bytes[] = {0x01, 0x02, 0x03, 0x04, 0x85, 0x86, 0x87, 0x88};
	uint8_t copy[8];

	(void)state;
	assert_int_equal(common_load16(bytes), 0x0201);
	assert_int_equal(common_load32(bytes), 0x04030201);
	assert_true(common_load32(bytes + 4) == 0x88878685);
	assert_true(common_load64(bytes) == 0x8887868504030201);
	assert_true(common_load_le(bytes, 6) == 0x868504030201);
	assert_true(common_load_le(bytes, 0) == 0);
	common_store64(copy, common_load64(bytes));
	assert_memory_equal(copy, bytes, 8);
	common_store32(copy, 0xa1b2c3d4);
	common_store16(copy + 4, 0xe5f6);
	assert_memory_equal(copy, "\xd4\xc3\xb2\xa1\xf6\xe5\x87\x88", 8);
}

static void zigzag(void **state)
{
	static const int64_t values[] = {0, -1, 1, -2, 2, INT64_MAX, INT64_MIN};
	static const uint64_t coded[] = {0, 1, 2, 3, 4, UINT64_MAX - 1, UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		assert_true(common_zigzag(values[i]) == coded[i]);
		assert_true(common_unzigzag(coded[i]) == values[i]);
	}
}

static void cursor_reads_in_order(void **state)
{
	static const uint8_t bytes[] = {1, 2, 0, 3, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 9, 8, 7};
	struct common_cursor cursor = common_cursor(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(common_read8(&cursor), 1);
	assert_int_equal(common_read16(&cursor), 2);
	assert_int_equal(common_read32(&cursor), 3);
	assert_int_equal(common_read64(&cursor), 4);
	assert_int_equal(common_cursor_left(&cursor), 3);
	assert_ptr_equal(common_read_bytes(&cursor, 3), bytes + 15);
	assert_int_equal(common_cursor_left(&cursor), 0);
	assert_non_null(common_read_bytes(&cursor, 0));
	assert_false(cursor.failed);
}

/* After the first read past the end every read gives zero, even a read that would fit. */
static void cursor_overrun(void **state)
{
	static const uint8_t bytes[] = {1, 2, 3};
	struct common_cursor cursor = common_cursor(bytes, sizeof(bytes));

	(void)state;
	assert_true(common_read32(&cursor) == 0);
	assert_true(cursor.failed);
	assert_int_equal(common_cursor_left(&cursor), 0);
	assert_int_equal(common_read8(&cursor), 0);
	assert_null(common_read_bytes(&cursor, 0));
	cursor = common_cursor(bytes, sizeof(bytes));
	assert_null(common_read_bytes(&cursor, SIZE_MAX));
	assert_true(cursor.failed);
	cursor = common_cursor(NULL, 0);
	assert_true(common_read_varint(&cursor) == 0);
	assert_true(cursor.failed);
}

static void varint_round_trip(void **state)
{
	(void)state;
	for (unsigned bit = 0; bit < 64; bit++) {
		for (int delta = -1; delta <= 1; delta++) {
			const uint64_t value = ((uint64_t)1 << bit) + (uint64_t)(int64_t)delta;
			struct ptl_bytes out = {0};
			struct common_cursor in;

			common_write_varint(&out, value);
			assert_int_equal(out.size, common_varint_size(value));
			in = common_cursor(out.data, out.size);
			assert_true(common_read_varint(&in) == value);
			assert_false(in.failed);
			assert_int_equal(common_cursor_left(&in), 0);
			/* every truncation is refused */
			for (size_t size = 0; size < out.size; size++) {
				in = common_cursor(out.data, size);
				assert_true(common_read_varint(&in) == 0);
				assert_true(in.failed);
			}
			common_bytes_free(&out);
		}
	}
	assert_int_equal(common_varint_size(0), 1);
	assert_int_equal(common_varint_size(127), 1);
	assert_int_equal(common_varint_size(128), 2);
	assert_int_equal(common_varint_size(UINT64_MAX), 10);
}

/* Every value has a single encoding: longer encodings, and values beyond 64 bits, are refused. */
static void varint_canonical(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} bad[] = {
		{"\x80\x00", 2},
		{"\xff\x80\x00", 3},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00", 11},
		{"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11},
	};
	struct common_cursor cursor = common_cursor("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);

	(void)state;
	assert_true(common_read_varint(&cursor) == UINT64_MAX);
	assert_false(cursor.failed);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		cursor = common_cursor(bad[i].bytes, bad[i].size);
		assert_true(common_read_varint(&cursor) == 0);
		assert_true(cursor.failed);
		assert_int_equal(common_cursor_left(&cursor), 0);
	}
}

static void vector_grows(void **state)
{
	struct ptl_bytes bytes = {0};

	(void)state;
	common_write_bytes(&bytes, NULL, 0);
	assert_int_equal(bytes.size, 0);
	assert_false(bytes.failed);
	for (uint32_t i = 0; i < 100000; i++)
		common_write_le(&bytes, i, 4);
	assert_int_equal(bytes.size, 400000);
	for (uint32_t i = 0; i < 100000; i++)
		assert_int_equal(common_load32(bytes.data + 4 * i), i);
	common_bytes_free(&bytes);
	assert_null(bytes.data);
	assert_int_equal(bytes.size, 0);
	common_write_bytes(&bytes, "again", 5);
	assert_memory_equal(bytes.data, "again", 5);
	common_bytes_free(&bytes);
}

/* A failed allocation is reported once, and later writes change nothing. */
static void vector_without_memory(void **state)
{
	struct ptl_bytes bytes = {0};

	(void)state;
	common_write_le(&bytes, 7, 1);
	assert_null(common_bytes_grow(&bytes, SIZE_MAX));
	assert_true(bytes.failed);
	assert_null(common_bytes_grow(&bytes, 1));
	common_write_varint(&bytes, 300);
	assert_int_equal(bytes.size, 1);
	assert_int_equal(bytes.data[0], 7);
	common_bytes_free(&bytes);
	assert_false(bytes.failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loads_and_stores),      cmocka_unit_test(zigzag),
		cmocka_unit_test(cursor_reads_in_order), cmocka_unit_test(cursor_overrun),
		cmocka_unit_test(varint_round_trip),     cmocka_unit_test(varint_canonical),
		cmocka_unit_test(vector_grows),          cmocka_unit_test(vector_without_memory),
	};

	return cmocka_run_group_tests_name("bytes", tests, NULL, NULL);
}
