/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that a batch of records equals the same events added singly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/event/events.h"

#define EVENTS 3000u
#define RECORD 40u

static const struct format_event_piece some[] = {{16, 20}, {2, 1}, {9, 4}}, whole[] = {{0, RECORD}};
static const struct format_event_kind kinds[] = {
	{{.id = 7, .level = 4}, some, 3, 25, 36},
	{{.id = 8, .keyword = 1}, whole, 1, RECORD, RECORD},
	{{.id = 9}, NULL, 0, 0, 0},
};

static const struct format_event_kind *kind_of(uint32_t event)
{
	/* in runs, and alone */
	return &kinds[event % 100 < 60 ? 0 : event % 3];
}

static uint64_t time_of(uint32_t event)
{
	return 1000000 + (uint64_t)event * 700 - event % 7 * 1500;
}

static void fill(uint8_t *record, uint32_t event)
{
	for (uint32_t i = 0; i < RECORD; i++)
		record[i] = (uint8_t)(i % 5 ? i : event * i);
}

static void encode(struct format_event_batch *batch, struct ptl_bytes *raw)
{
	struct format_event_splits splits;

	format_event_batch_encode(batch, raw, &splits);
	assert_false(raw->failed);
	format_event_batch_free(batch);
}

static void add_one_by_one(struct format_event_batch *batch, uint32_t events)
{
	uint8_t record[RECORD], payload[RECORD];

	for (uint32_t i = 0; i < events; i++) {
		const struct format_event_kind *kind = kind_of(i);
		const struct ptl_event event = {
			.descriptor = kind->descriptor,
			.time = time_of(i),
			.cpu = i % 2,
			.pid = 5,
			.tid = i % 300,
			.payload = payload,
			.payload_size = kind->payload_size,
		};
		size_t size = 0;

		fill(record, i);
		for (size_t k = 0; k < kind->piece_count; k++) {
			memcpy(payload + size, record + kind->pieces[k].offset, kind->pieces[k].size);
			size += kind->pieces[k].size;
		}
		assert_int_equal(size, kind->payload_size);
		assert_int_equal(format_event_batch_add(batch, &event), 0);
	}
}

static struct format_event_record *make_records(uint8_t (*data)[RECORD])
{
	struct format_event_record *records = calloc(EVENTS, sizeof(*records));

	assert_non_null(records);
	for (uint32_t i = 0; i < EVENTS; i++) {
		fill(data[i], i);
		records[i] = (struct format_event_record){kind_of(i), time_of(i), {i % 2, 5, i % 300}, data[i]};
	}
	return records;
}

static void records_are_events(void **state)
{
	struct format_event_batch events = {0}, batch = {.expected_events = 10, .expected_bytes = 100};
	uint8_t(*data)[RECORD] = calloc(EVENTS, sizeof(*data));
	struct format_event_record *records;
	struct ptl_bytes wanted = {0}, got = {0};

	(void)state;
	assert_non_null(data);
	records = make_records(data);
	add_one_by_one(&events, EVENTS);
	encode(&events, &wanted);
	for (size_t i = 0, step = 1; i < EVENTS; i += step, step = step % 64 + 1) {
		step = step < EVENTS - i ? step : EVENTS - i;
		assert_int_equal(format_event_batch_add_records(&batch, records + i, step, SIZE_MAX), step);
	}
	assert_int_equal(batch.first_time, 1000000 - 6 * 1500 + 6 * 700);
	assert_int_equal(batch.last_time, time_of(EVENTS - 4)); /* 2996 is a multiple of 7 */
	encode(&batch, &got);
	assert_int_equal(got.size, wanted.size);
	assert_memory_equal(got.data, wanted.data, wanted.size);
	common_bytes_free(&wanted);
	common_bytes_free(&got);
	free(records);
	free(data);
}

/* When the batch has the maximal buffer size, the rest is left for the next batch. */
static void records_stop_where_the_buffer_is_full(void **state)
{
	struct format_event_batch events = {0}, batch = {0};
	uint8_t(*data)[RECORD] = calloc(EVENTS, sizeof(*data));
	struct format_event_record *records;
	size_t added;

	(void)state;
	assert_non_null(data);
	records = make_records(data);
	added = format_event_batch_add_records(&batch, records, EVENTS, 20000);
	assert_in_range(added, 100, EVENTS - 1);
	assert_int_equal(batch.count, added);
	add_one_by_one(&events, (uint32_t)added - 1);
	assert_true(format_event_batch_size(&events) < 20000);
	assert_true(format_event_batch_size(&batch) >= 20000);
	assert_int_equal(format_event_batch_add_records(&batch, records + added, 5, 1), 1);
	format_event_batch_free(&events);
	format_event_batch_free(&batch);
	free(records);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_are_events),
		cmocka_unit_test(records_stop_where_the_buffer_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
