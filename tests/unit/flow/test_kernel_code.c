/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that the kernel's images and code, which belong to process 0, are in every address space. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "flow/timeline/query.h"
#include "flow/timeline/timeline.h"
#include "tests/unit/dump_trace.h"
#include "tests/unit/pt_random.h"

#define PAGE 0x1000ull
#define PAGES 12
#define CHANGES 60
#define ROUNDS 10

static const struct ptl_machine machine = {.source = "test", .mode = 64, .clock = PTL_CLOCK_MONOTONIC};

/* addresses on both sides of the user/kernel border, and the kernel's usual address */
static const uint64_t bases[] = {0x8000000000000000ull - PAGES / 2 * PAGE, 0xffffffff81000000ull};
#define REGIONS (sizeof(bases) / sizeof(bases[0]))

/* Byte that fills each page; 0: empty. */
struct space {
	uint8_t pages[REGIONS][PAGES];
};

static uint64_t address_of(size_t region, size_t page)
{
	return bases[region] + page * PAGE;
}

/* Returns the byte that a process sees. */
static uint8_t byte_of(const struct space *own, const struct space *kernel, size_t region, size_t page)
{
	if (own->pages[region][page] || !(address_of(region, page) >> 63))
		return own->pages[region][page];
	return kernel->pages[region][page];
}

static uint8_t byte_at(struct ptl_trace *trace, const struct format_piece *piece, uint64_t address)
{
	uint8_t *data, byte;
	size_t size;

	assert_int_not_equal(piece->blob, FLOW_NONE);
	assert_int_equal(ptl_blob_read(trace, ptl_blob_at(trace, piece->blob)->hash, 1u << 20, &data, &size), 0);
	assert_true(piece->offset + (address - piece->first) < size);
	byte = data[piece->offset + (address - piece->first)];
	free(data);
	return byte;
}

/* Image, code event or unload of some pages of the process. */
static void change(struct dump_trace *made, struct pt_random *random, uint64_t time, uint32_t pid, struct space *space)
{
	static uint8_t code[PAGES * PAGE], next;
	const size_t region = pt_random_below(random, REGIONS), first = pt_random_below(random, PAGES);
	const size_t count = 1 + pt_random_below(random, PAGES - first), kind = pt_random_below(random, 4);
	const uint8_t byte = kind ? (uint8_t)(++next ? next : ++next) : 0;

	memset(code, byte, count * PAGE);
	memset(space->pages[region] + first, byte, count);
	if (!kind)
		dump_trace_unload(made, time, pid, address_of(region, first), count * PAGE);
	else if (kind == 1)
		dump_trace_code(made, time, pid, address_of(region, first), count * PAGE, code, count * PAGE);
	else
		dump_trace_load(made, time, pid, "image", address_of(region, first), count * PAGE, code, count * PAGE);
}

struct expected {
	struct space spaces[CHANGES + 1][2]; /* spaces of process 0 and of the other process after each change */
};

static void check_lookups(struct ptl_trace *trace, const struct flow_timeline *timeline, flow_root root,
			  const struct space *own, const struct space *kernel)
{
	struct space walked = {0};
	struct format_piece piece;
	uint64_t at = 0;

	for (size_t region = 0; region < REGIONS; region++)
		for (size_t page = 0; page < PAGES; page++) {
			const uint64_t address = address_of(region, page);
			const uint8_t byte = byte_of(own, kernel, region, page);

			assert_int_equal(flow_version_find(timeline, root, address, &piece), byte != 0);
			assert_true(piece.first <= address && piece.last >= address);
			if (byte)
				assert_int_equal(byte_at(trace, &piece, address), byte);
			/* The answer is valid for the whole range. */
			for (size_t other = 0; other < PAGES; other++)
				if (address_of(region, other) >= piece.first && address_of(region, other) <= piece.last)
					assert_int_equal(byte_of(own, kernel, region, other) != 0, byte != 0);
		}
	while (flow_version_next(timeline, root, at, &piece)) {
		assert_true(piece.last >= at);
		for (size_t region = 0; region < REGIONS; region++)
			for (size_t page = 0; page < PAGES; page++)
				if (address_of(region, page) >= piece.first && address_of(region, page) <= piece.last)
					walked.pages[region][page] = byte_at(trace, &piece, address_of(region, page));
		if (piece.last == UINT64_MAX)
			break;
		at = piece.last + 1;
	}
	for (size_t region = 0; region < REGIONS; region++)
		for (size_t page = 0; page < PAGES; page++)
			assert_int_equal(walked.pages[region][page], byte_of(own, kernel, region, page));
}

struct differences {
	uint64_t last_first;
	struct space pages; /* 1: reported */
};

static bool take_difference(void *context, uint64_t first, uint64_t last)
{
	struct differences *found = context;

	assert_true(first <= last && first >= found->last_first);
	found->last_first = first;
	for (size_t region = 0; region < REGIONS; region++)
		for (size_t page = 0; page < PAGES; page++)
			if (address_of(region, page) >= first && address_of(region, page) <= last)
				found->pages.pages[region][page] = 1;
	return true;
}

/* All differences are reported, in order. */
static void check_comparison(const struct flow_timeline *timeline, const struct expected *expected, uint32_t process,
			     size_t one, size_t other)
{
	struct differences found = {0};
	struct flow_version a, b;

	flow_timeline_version(timeline, process, one, &a);
	flow_timeline_version(timeline, process, other, &b);
	assert_true(flow_version_compare(timeline, a.root, b.root, take_difference, &found));
	for (size_t region = 0; region < REGIONS; region++)
		for (size_t page = 0; page < PAGES; page++)
			if (byte_of(&expected->spaces[one][1], &expected->spaces[one][0], region, page) !=
			    byte_of(&expected->spaces[other][1], &expected->spaces[other][0], region, page))
				assert_int_equal(found.pages.pages[region][page], 1);
}

static void random_changes(void **state)
{
	struct pt_random random = {.state = 20};
	struct expected *expected = malloc(sizeof(*expected));

	(void)state;
	assert_non_null(expected);
	for (int round = 0; round < ROUNDS; round++) {
		struct flow_timeline *timeline;
		struct dump_trace made;
		struct ptl_trace *trace;
		uint32_t process;

		dump_trace_start(&made, &machine);
		memset(expected, 0, sizeof(*expected));
		for (size_t time = 1; time <= CHANGES; time++) {
			const size_t which = pt_random_below(&random, 2);

			memcpy(expected->spaces[time], expected->spaces[time - 1], sizeof(expected->spaces[time]));
			change(&made, &random, time, which ? 7 : 0, &expected->spaces[time][which]);
		}
		trace = dump_trace_finish(&made);
		assert_int_equal(flow_timeline_build(trace, &timeline), 0);
		process = flow_timeline_process_at(timeline, 7, 1);
		for (size_t time = 0; process != FLOW_NONE && time <= CHANGES; time++) {
			struct flow_version version;

			flow_timeline_version(timeline, process, time, &version);
			assert_true(version.until == time + 1 || time == CHANGES || version.until == FLOW_TIME_END);
			check_lookups(trace, timeline, version.root, &expected->spaces[time][1],
				      &expected->spaces[time][0]);
			check_comparison(timeline, expected, process, time, pt_random_below(&random, CHANGES + 1));
		}
		flow_timeline_free(timeline);
		ptl_close(trace);
	}
	free(expected);
}

/* A process sees the kernel of its own machine. A fork from the kernel keeps no copy of the kernel's mappings. */
static void whose_kernel(void **state)
{
	const struct ptl_machine second = {.source = "test", .mode = 64, .clock = PTL_CLOCK_MONOTONIC, .index = 1};
	const struct ptl_process_event child = {
		.process_id = 2, .parent_id = 0, .unique_key = 1, .image_file_name = "", .command_line = ""};
	static const uint8_t one[] = {1}, two[] = {2}, three[] = {3};
	struct flow_timeline *timeline;
	struct dump_trace made;
	struct ptl_trace *trace;
	struct flow_place place;

	(void)state;
	dump_trace_start(&made, &machine);
	assert_int_equal(ptl_writer_machine(made.writer, &second), 0);
	dump_trace_load(&made, 1, 0, "[kernel]", bases[1], 1, one, 1);
	dump_trace_load(&made, 1, PTL_MACHINE_IDS, "[kernel]", bases[1], 1, two, 1);
	dump_trace_process(&made, 2, PTL_OPCODE_START, &child);
	dump_trace_load(&made, 3, PTL_MACHINE_IDS + 2, "program", PAGE, 1, three, 1);
	dump_trace_code(&made, 4, 0, bases[1], 1, three, 1);
	trace = dump_trace_finish(&made);
	assert_int_equal(flow_timeline_build(trace, &timeline), 0);
	for (uint64_t time = 3; time <= 4; time++)
		for (uint32_t index = 0; index < 2; index++) {
			const uint32_t process = flow_timeline_process_at(timeline, index * PTL_MACHINE_IDS + 2, time);
			uint8_t *data;
			size_t size;

			assert_true(flow_timeline_find(timeline, process, time, bases[1], &place));
			assert_int_equal(ptl_blob_read(trace, ptl_blob_at(trace, place.blob)->hash, 99, &data, &size),
					 0);
			assert_int_equal(data[0], index ? 2 : time == 3 ? 1 : 3);
			free(data);
			assert_int_equal(
				flow_timeline_process(timeline, flow_timeline_image(timeline, place.image)->process)
					->pid,
				index * PTL_MACHINE_IDS);
		}
	flow_timeline_free(timeline);
	ptl_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_changes),
		cmocka_unit_test(whose_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
