/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the scan for PSB packets: pieces of every size, overlong runs, similar bytes, random bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/pt/packet.h"
#include "format/pt/psb_scan.h"

#define PSB "\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82"
#define FOUND_MAX 25 /* maximal number of PSBs in the longest test */

struct found {
	uint64_t offset[FOUND_MAX];
	size_t count;
};

static int note(void *context, uint64_t offset)
{
	struct found *found = context;

	assert_true(found->count < FOUND_MAX);
	found->offset[found->count++] = offset;
	return 0;
}

/* Scans data in pieces of `piece` bytes. */
static struct found scan(const char *data, size_t size, size_t piece)
{
	struct format_pt_psb_scan state = {0};
	struct found found = {0};

	for (size_t at = 0; at < size; at += piece) {
		size_t n = size - at < piece ? size - at : piece;

		assert_int_equal(format_pt_psb_scan(&state, (const uint8_t *)data + at, n, note, &found), 0);
	}
	assert_int_equal(format_pt_psb_scan_end(&state, note, &found), 0);
	assert_int_equal(state.found, found.count);
	assert_int_equal(state.offset, size);
	return found;
}

static void expect(const char *data, size_t size, const uint64_t *offset, size_t count)
{
	for (size_t piece = 1; piece <= size; piece++) {
		struct found found = scan(data, size, piece);

		assert_int_equal(found.count, count);
		if (count)
			assert_memory_equal(found.offset, offset, count * sizeof(*offset));
	}
}

static void finds_each(void **state)
{
	static const char data[] = PSB "\x02\x23"
				       "\x00\x00" PSB "\x02\x23";
	static const uint64_t offset[] = {0, 20};

	(void)state;
	expect(data, sizeof(data) - 1, offset, 2);
}

static void finds_one_at_the_end(void **state)
{
	static const char data[] = "\x00" PSB;
	static const uint64_t offset[] = {1};

	(void)state;
	expect(data, sizeof(data) - 1, offset, 1);
}

/* TIP with a two-byte address 0x8202, then a PSB. */
static void takes_the_last_of_a_long_run(void **state)
{
	static const char data[] = "\x2d\x02\x82" PSB "\x02\x03\x0a\x00";
	static const uint64_t offset[] = {3};

	(void)state;
	expect(data, sizeof(data) - 1, offset, 1);
}

static void ignores_look_alikes(void **state)
{
	static const char almost[] = "\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x02\x82";
	static const char swapped[] = "\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02";

	(void)state;
	expect(almost, sizeof(almost) - 1, NULL, 0);
	expect(swapped, sizeof(swapped) - 1, NULL, 0);
	expect(PSB, 15, NULL, 0);
}

/* Random bytes, mostly of the pattern: pieces give the same as a search of the whole memory. */
static void agrees_with_the_search(void **state)
{
	uint8_t data[400];
	uint32_t random = 1;

	(void)state;
	for (unsigned round = 0; round < 2000; round++) {
		uint64_t offset[FOUND_MAX];
		struct found found;
		size_t count = 0;

		for (size_t i = 0; i < sizeof(data); i++) {
			random = random * 1664525 + 1013904223;
			data[i] = random >> 24 < 8 ? (uint8_t)(random >> 16) : i % 2 ? 0x82 : 0x02;
		}
		for (size_t at = 0; (at = ptl_pt_find_psb(data, sizeof(data), at)) < sizeof(data);
		     at += PTL_PT_PSB_SIZE)
			offset[count++] = at;
		found = scan((const char *)data, sizeof(data), 1 + round % 50);
		assert_int_equal(found.count, count);
		assert_memory_equal(found.offset, offset, count * sizeof(*offset));
	}
}

static int refuse(void *context, uint64_t offset)
{
	(void)context;
	return (int)offset + 7;
}

static void passes_on_a_refusal(void **state)
{
	struct format_pt_psb_scan scanning = {0};

	(void)state;
	assert_int_equal(format_pt_psb_scan(&scanning, (const uint8_t *)PSB "\x00", 17, refuse, NULL), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_each),
		cmocka_unit_test(finds_one_at_the_end),
		cmocka_unit_test(takes_the_last_of_a_long_run),
		cmocka_unit_test(ignores_look_alikes),
		cmocka_unit_test(agrees_with_the_search),
		cmocka_unit_test(passes_on_a_refusal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
