/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests payloads written as planes: every size and number of events is read back, also with mixed kinds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/event/events.h"
#include "format/event/planes.h"

#define SIZE_MOST 40u
#define EVENTS_MOST 35u

static uint8_t byte_of(uint32_t event, size_t at)
{
	return (uint8_t)(event * 131 + at * 7 + (event >> 3));
}

/* Every third event is of another kind, and another size. */
static size_t size_of(uint32_t event, size_t size)
{
	return event % 3 == 2 ? SIZE_MOST - size : size;
}

static void encode(uint32_t events, size_t size, struct ptl_bytes *raw)
{
	struct format_event_batch batch = {0};
	struct format_event_splits splits;
	uint8_t payload[SIZE_MOST];

	for (uint32_t i = 0; i < events; i++) {
		const struct ptl_event event = {
			.descriptor = {.id = i % 3 == 2},
			.time = 5000 + (uint64_t)i * i * 977 - (i % 5) * 300,
			.payload = payload,
			.payload_size = size_of(i, size),
		};

		for (size_t at = 0; at < event.payload_size; at++)
			payload[at] = byte_of(i, at);
		assert_int_equal(format_event_batch_add(&batch, &event), 0);
	}
	format_event_batch_encode(&batch, raw, &splits);
	assert_false(raw->failed);
	format_event_batch_free(&batch);
}

static void check(uint32_t events, size_t size)
{
	struct format_event_block block = {0};
	struct ptl_bytes raw = {0};
	struct ptl_event event;
	uint64_t first = UINT64_MAX, last = 0;

	encode(events, size, &raw);
	for (uint32_t i = 0; i < events; i++) {
		const uint64_t time = 5000 + (uint64_t)i * i * 977 - (i % 5) * 300;

		first = time < first ? time : first;
		last = time > last ? time : last;
	}
	assert_int_equal(format_event_block_decode(&block, raw.data, raw.size, events, first, last), 0);
	for (uint32_t i = 0; i < events; i++) {
		assert_true(format_event_block_next(&block, &event));
		assert_int_equal(event.time, 5000 + (uint64_t)i * i * 977 - (i % 5) * 300);
		assert_int_equal(event.payload_size, size_of(i, size));
		for (size_t at = 0; at < event.payload_size; at++)
			assert_int_equal(event.payload[at], byte_of(i, at));
	}
	assert_false(format_event_block_next(&block, &event));
	format_event_block_free(&block);
	common_bytes_free(&raw);
}

static void every_size_comes_back(void **state)
{
	(void)state;
	for (size_t size = 0; size <= SIZE_MOST; size++)
		for (uint32_t events = 1; events <= EVENTS_MOST; events++)
			check(events, size);
}

static void eight_by_eight_is_turned(void **state)
{
	uint8_t rows[8][20], out[8 * 11];
	const uint8_t *in[8];

	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		for (size_t at = 0; at < sizeof(rows[i]); at++)
			rows[i][at] = byte_of(i, at);
		in[i] = rows[i];
	}
	memset(out, 0xee, sizeof(out));
	format_transpose_8x8(in, 3, out, 11);
	for (uint32_t i = 0; i < 8; i++) {
		for (uint32_t k = 0; k < 8; k++)
			assert_int_equal(out[i * 11 + k], rows[k][3 + i]);
		for (uint32_t k = 8; k < 11; k++)
			assert_int_equal(out[i * 11 + k], 0xee);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eight_by_eight_is_turned),
		cmocka_unit_test(every_size_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
