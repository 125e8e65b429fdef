/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the ring of the kernel's records: records across the end, and invalid positions and sizes. A file replaces the
 * kernel's ring.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/error.h"
#include "record/perf/data_ring.h"

#define SIZE 4096u

struct fixture {
	struct record_data_ring ring;
	uint8_t *bytes; /* bytes of the records */
	int fd;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	const long page = sysconf(_SC_PAGESIZE);

	fixture->fd = memfd_create("ring", MFD_CLOEXEC);
	if (fixture->fd < 0 || ftruncate(fixture->fd, page + SIZE) < 0 ||
	    record_data_ring_map(&fixture->ring, fixture->fd, SIZE) < 0)
		return -1;
	fixture->bytes = (uint8_t *)fixture->ring.page + page;
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	record_data_ring_unmap(&fixture->ring);
	close(fixture->fd);
	free(fixture);
	return 0;
}

/* Writes a record at data_head, as the kernel does. All bytes behind the header are `fill`. */
static void put(struct fixture *fixture, uint32_t type, uint16_t size, uint8_t fill)
{
	const struct perf_event_header header = {.type = type, .size = size};
	uint64_t at = fixture->ring.page->data_head;
	uint8_t record[1024];

	memset(record, fill, sizeof(record));
	memcpy(record, &header, sizeof(header));
	for (uint16_t i = 0; i < size; i++)
		fixture->bytes[at++ % SIZE] = record[i];
	fixture->ring.page->data_head = at;
}

static void expect(struct fixture *fixture, uint32_t type, uint16_t size, uint8_t fill)
{
	const struct perf_event_header *record;

	assert_int_equal(record_data_ring_next(&fixture->ring, record_data_ring_head(&fixture->ring), &record), 1);
	assert_int_equal(record->type, type);
	assert_int_equal(record->size, size);
	for (size_t i = sizeof(*record); i < size; i++)
		assert_int_equal(((const uint8_t *)record)[i], fill);
	record_data_ring_taken(&fixture->ring, record);
}

static void expect_end(struct fixture *fixture)
{
	const struct perf_event_header *record;

	assert_int_equal(record_data_ring_next(&fixture->ring, record_data_ring_head(&fixture->ring), &record), 0);
	assert_int_equal(fixture->ring.page->data_tail, fixture->ring.page->data_head);
}

/* Expects a corrupt ring once; a second call with the same positions finds no record. */
static void expect_corrupt(struct fixture *fixture)
{
	const struct perf_event_header *record;
	const uint64_t head = record_data_ring_head(&fixture->ring);

	assert_int_equal(record_data_ring_next(&fixture->ring, head, &record), PTL_CORRUPT);
	assert_int_equal(fixture->ring.page->data_tail, head);
	assert_int_equal(record_data_ring_next(&fixture->ring, head, &record), 0);
	put(fixture, 9, 24, 9);
	expect(fixture, 9, 24, 9);
}

static void test_records(void **state)
{
	struct fixture *fixture = *state;
	const struct perf_event_header *record;

	expect_end(fixture);
	put(fixture, 1, 8, 0);
	put(fixture, 2, 800, 0xab);
	/* The ring returns an untaken record again. */
	assert_int_equal(record_data_ring_next(&fixture->ring, record_data_ring_head(&fixture->ring), &record), 1);
	expect(fixture, 1, 8, 0);
	expect(fixture, 2, 800, 0xab);
	expect_end(fixture);
}

static void test_records_pass_the_end(void **state)
{
	struct fixture *fixture = *state;

	for (unsigned i = 0; i < 100; i++) {
		put(fixture, i, 504, (uint8_t)i);
		put(fixture, i, (uint16_t)(8 + i * 8), (uint8_t)~i);
		expect(fixture, i, 504, (uint8_t)i);
		expect(fixture, i, (uint16_t)(8 + i * 8), (uint8_t)~i);
	}
	expect_end(fixture);
}

/* The kernel gets room back in pieces, and all room once the ring is empty. */
static void test_room_is_given_back(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t begin = fixture->ring.page->data_tail;

	for (unsigned i = 0; i < 6; i++)
		put(fixture, 1, 200, 1);
	expect(fixture, 1, 200, 1);
	assert_int_equal(fixture->ring.page->data_tail, begin);
	expect(fixture, 1, 200, 1);
	assert_int_equal(fixture->ring.page->data_tail, begin + 400);
	for (unsigned i = 2; i < 6; i++)
		expect(fixture, 1, 200, 1);
	expect_end(fixture);
}

/* A taken record stays unchanged until its room is given back, also a record across the end. */
static void test_room_is_given_back_by_hand(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t begin = fixture->ring.page->data_tail;
	const struct perf_event_header *first, *record;

	fixture->ring.manual_release = true;
	for (unsigned i = 0; i < 4; i++)
		put(fixture, 1, 1000, (uint8_t)(10 + i));
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(record_data_ring_next(&fixture->ring, record_data_ring_head(&fixture->ring), &record),
				 1);
		first = i ? first : record;
		record_data_ring_taken(&fixture->ring, record);
	}
	assert_int_equal(record_data_ring_next(&fixture->ring, record_data_ring_head(&fixture->ring), &record), 0);
	assert_int_equal(fixture->ring.page->data_tail, begin);
	assert_int_equal(((const uint8_t *)first)[999], 10);
	record_data_ring_give_back(&fixture->ring, false);
	assert_int_equal(fixture->ring.page->data_tail, begin + 4000);
	put(fixture, 1, 200, 1);
	expect(fixture, 1, 200, 1);
	record_data_ring_give_back(&fixture->ring, false);
	assert_int_equal(fixture->ring.page->data_tail, begin + 4000);
	record_data_ring_give_back(&fixture->ring, true);
	assert_int_equal(fixture->ring.page->data_tail, begin + 4200);
}

/* Positions grow while the event is open. */
static void test_positions_may_pass_64_bits(void **state)
{
	struct fixture *fixture = *state;

	fixture->ring.page->data_head = fixture->ring.tail = UINT64_MAX - 15;
	put(fixture, 1, 40, 7);
	expect(fixture, 1, 40, 7);
	expect_end(fixture);
}

static void test_sizes_that_make_no_sense(void **state)
{
	static const uint16_t sizes[] = {0, 7, 12, 64, 65535};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const struct perf_event_header header = {.type = 9, .size = sizes[i]};
		uint8_t bytes[sizeof(header)];

		memcpy(bytes, &header, sizeof(header));
		put(fixture, 1, 16, 0);
		put(fixture, 2, 32, 0);
		expect(fixture, 1, 16, 0);
		for (size_t byte = 0; byte < sizeof(bytes); byte++)
			fixture->bytes[(fixture->ring.tail + byte) % SIZE] = bytes[byte];
		expect_corrupt(fixture);
	}
}

static void test_positions_that_make_no_sense(void **state)
{
	struct fixture *fixture = *state;
	struct perf_event_mmap_page *page = fixture->ring.page;

	/* More bytes than the ring, fewer than a header, and a position between records. */
	page->data_head = fixture->ring.tail + SIZE + 8;
	expect_corrupt(fixture);
	fixture->ring.tail = page->data_head + 8;
	expect_corrupt(fixture);
	fixture->ring.tail = page->data_head - 4;
	page->data_head += 20;
	{
		const struct perf_event_header *record;

		assert_int_equal(record_data_ring_next(&fixture->ring, page->data_head, &record), PTL_CORRUPT);
		assert_int_equal(page->data_tail, page->data_head);
	}
}

static void test_a_ring_that_cannot_be_mapped(void **state)
{
	struct record_data_ring ring;

	(void)state;
	assert_int_equal(record_data_ring_map(&ring, -1, SIZE), PTL_SYSTEM);
	assert_null(ring.page);
	assert_null(ring.record);
	record_data_ring_unmap(&ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_records, setup, teardown),
		cmocka_unit_test_setup_teardown(test_records_pass_the_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_room_is_given_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_room_is_given_back_by_hand, setup, teardown),
		cmocka_unit_test_setup_teardown(test_positions_may_pass_64_bits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sizes_that_make_no_sense, setup, teardown),
		cmocka_unit_test_setup_teardown(test_positions_that_make_no_sense, setup, teardown),
		cmocka_unit_test(test_a_ring_that_cannot_be_mapped),
	};

	return cmocka_run_group_tests_name("data_ring", tests, NULL, NULL);
}
