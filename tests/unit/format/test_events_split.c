/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that the splits found in an EVENTS payload for recompression equal the splits at writing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/event/events.h"

#define EVENTS 9000u

/*
 * Encodes three kinds of events with fixed payloads of 0, 4 and 24 bytes, and two kinds with payloads of varying size.
 */
static void encode(struct ptl_bytes *raw, struct format_event_splits *splits)
{
	uint8_t payload[600] = {1, 2, 3};
	static const size_t sizes[] = {0, 4, 24, 0, 0};
	struct format_event_batch batch = {0};

	for (uint32_t i = 0; i < EVENTS; i++) {
		const struct ptl_event event = {
			.descriptor = {.id = (uint16_t)(i % 5)},
			.time = 1000 + (uint64_t)i * i,
			.cpu = i % 3,
			.tid = i % 700,
			.flags = i % 100 ? 0 : PTL_EVENT_HAS_ACTIVITY,
			.payload = payload,
			.payload_size = i % 5 < 3 ? sizes[i % 5] : i % (i % 5 == 3 ? 50 : 600),
		};

		/* most planes have varying bytes */
		memset(payload + 2, (int)(i >> 4), 16);
		assert_int_equal(format_event_batch_add(&batch, &event), 0);
	}
	format_event_batch_encode(&batch, raw, splits);
	assert_false(raw->failed);
	format_event_batch_free(&batch);
}

static void splits_are_found_again(void **state)
{
	struct format_event_splits written, found = {.count = 77};
	struct ptl_bytes raw = {0};

	(void)state;
	encode(&raw, &written);
	assert_true(written.count > 10);
	format_event_splits_find(raw.data, raw.size, EVENTS, &found);
	assert_int_equal(found.count, written.count);
	assert_memory_equal(found.at, written.at, written.count * sizeof(written.at[0]));
	common_bytes_free(&raw);
}

/* Truncated or changed payloads have splits inside their bytes, in order, or no splits. */
static void anything_is_looked_at_safely(void **state)
{
	struct format_event_splits splits;
	struct ptl_bytes raw = {0};

	(void)state;
	encode(&raw, &splits);
	for (size_t i = 0; i < 600; i++) {
		const size_t size = i < 300 ? i : raw.size * i / 600;
		uint8_t *copy = malloc(size + 1);

		assert_non_null(copy);
		memcpy(copy, raw.data, size);
		copy[i * 7919 % (size + 1)] ^= (uint8_t)(1 + i % 255);
		format_event_splits_find(copy, size, i % 3 ? EVENTS : EVENTS * i, &splits);
		for (size_t k = 0; k < splits.count; k++)
			assert_true(splits.at[k] <= size && (!k || splits.at[k] > splits.at[k - 1]));
		free(copy);
	}
	common_bytes_free(&raw);
}

/* A kind without events and with a payload size of 2^63 - 1 costs no time. */
static void a_huge_layout_costs_nothing(void **state)
{
	struct format_event_splits splits;
	struct ptl_bytes raw = {0};

	(void)state;
	common_write_varint(&raw, 0); /* GUIDs */
	common_write_varint(&raw, 1); /* descriptors */
	for (int i = 0; i < 2; i++)
		common_write_varint(&raw, 0);
	common_write_le(&raw, 0, 4);
	for (int i = 0; i < 2; i++)
		common_write_varint(&raw, 0);
	common_write_varint(&raw, UINT64_MAX >> 1);
	common_write_varint(&raw, 1); /* contexts */
	for (int i = 0; i < 3; i++)
		common_write_varint(&raw, 0);
	common_write_le(&raw, 1, 1);
	format_event_splits_find(raw.data, raw.size, 0, &splits);
	assert_int_equal(splits.count, 0);
	format_event_splits_find(raw.data, raw.size, UINT32_MAX, &splits);
	assert_int_equal(splits.count, 0);
	common_bytes_free(&raw);
}

/* A group of constant planes has borders at both ends, and no inner borders. */
static void level_planes_are_together(void **state)
{
	struct format_event_splits splits, found;
	struct format_event_batch batch = {0};
	struct ptl_bytes raw = {0};
	size_t planes;

	(void)state;
	for (uint32_t i = 0; i < EVENTS; i++) {
		const uint8_t payload[32] = {
			1, [8] = 2, [16] = (uint8_t)(i * 7 >> 3), [17] = (uint8_t)(i >> 8), [31] = 9};
		const struct ptl_event event = {.time = i, .payload = payload, .payload_size = sizeof(payload)};

		assert_int_equal(format_event_batch_add(&batch, &event), 0);
	}
	format_event_batch_encode(&batch, &raw, &splits);
	assert_false(raw.failed);
	/* The borders: time step, planes 0 to 15, 16, 17, 18 to 31, and the rest. */
	planes = raw.size - 1 - 32 * EVENTS;
	assert_int_equal(splits.count, 5);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(splits.at[i], planes + ((const size_t[]){0, 16, 17, 18})[i] * EVENTS);
	assert_int_equal(splits.at[4], raw.size - 1);
	format_event_splits_find(raw.data, raw.size, EVENTS, &found);
	assert_int_equal(found.count, splits.count);
	assert_memory_equal(found.at, splits.at, splits.count * sizeof(splits.at[0]));
	format_event_batch_free(&batch);
	common_bytes_free(&raw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(splits_are_found_again),
		cmocka_unit_test(anything_is_looked_at_safely),
		cmocka_unit_test(level_planes_are_together),
		cmocka_unit_test(a_huge_layout_costs_nothing),
	};

	return cmocka_run_group_tests_name("events_split", tests, NULL, NULL);
}
