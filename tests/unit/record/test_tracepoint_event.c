/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the kernel's samples: whole, truncated at each byte, and with wrong counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/bytes.h"
#include "record/kernel_event/event.h"
#include "record/kernel_event/unwind.h"

#define FRAMES 3

static void begin(struct ptl_bytes *out)
{
	common_write_le(out, PERF_RECORD_SAMPLE, 4);
	common_write_le(out, 0, 4);
	common_write_le(out, 77, 8);
}

static void put_ids(struct ptl_bytes *out)
{
	common_write_le(out, 10, 4);
	common_write_le(out, 11, 4);
	common_write_le(out, 123456, 8);
	common_write_le(out, 5, 8);
}

static void put_stack(struct ptl_bytes *out, uint64_t count)
{
	common_write_le(out, count, 8);
	for (unsigned i = 0; i < FRAMES; i++)
		common_write_le(out, 0x1000 + i, 8);
}

/* Reads a record of the first `size` bytes, with that size in the header. */
static bool read_first(const struct kernel_event *event, const struct ptl_bytes *bytes, size_t size,
		       struct kernel_event_sample *sample)
{
	_Alignas(8) static uint8_t record[512];
	struct perf_event_header *header = (struct perf_event_header *)(void *)record;

	memset(record, 0xee, sizeof(record));
	memcpy(record, bytes->data, size);
	header->size = (uint16_t)size;
	return kernel_event_sample_read(event, header, sample);
}

static void check_ids(const struct kernel_event_sample *sample)
{
	assert_int_equal(sample->id, 77);
	assert_int_equal(sample->pid, 10);
	assert_int_equal(sample->tid, 11);
	assert_int_equal(sample->time, 123456);
	assert_int_equal(sample->cpu, 5);
}

static void test_a_tracepoint(void **state)
{
	const struct kernel_event event = {.stack = true};
	struct kernel_event_sample sample;
	struct ptl_bytes out = {0};

	(void)state;
	begin(&out);
	put_ids(&out);
	put_stack(&out, FRAMES);
	common_write_le(&out, 12, 4);
	common_write_bytes(&out, "abcdefghijkl", 12);
	assert_true(read_first(&event, &out, out.size, &sample));
	check_ids(&sample);
	assert_int_equal(sample.callchain_count, FRAMES);
	assert_int_equal(common_load64(sample.callchain + 16), 0x1002);
	assert_int_equal(sample.raw_size, 12);
	assert_memory_equal(sample.raw, "abcdefghijkl", 12);
	for (size_t size = 8; size < out.size; size++)
		assert_false(read_first(&event, &out, size, &sample));
	common_bytes_free(&out);
}

static void test_a_counter(void **state)
{
	const struct kernel_event event = {.samples = true};
	struct kernel_event_sample sample;
	struct ptl_bytes out = {0};

	(void)state;
	begin(&out);
	common_write_le(&out, 0x401136, 8);
	put_ids(&out);
	common_write_le(&out, 1000000, 8);
	assert_true(read_first(&event, &out, out.size, &sample));
	check_ids(&sample);
	assert_int_equal(sample.ip, 0x401136);
	assert_int_equal(sample.period, 1000000);
	assert_int_equal(sample.callchain_count, 0);
	for (size_t size = 8; size < out.size; size++)
		assert_false(read_first(&event, &out, size, &sample));
	common_bytes_free(&out);
}

/* Writes the part behind the call chain for unwinding a program. */
static void put_user(struct ptl_bytes *out, uint64_t abi, uint64_t size, uint64_t copied)
{
	common_write_le(out, abi, 8);
	for (uint64_t i = 0; abi && i < ELF_UNWIND_REGISTER_COUNT; i++)
		common_write_le(out, 0x7000 + i, 8);
	common_write_le(out, size, 8);
	for (unsigned i = 0; size && i < 2; i++)
		common_write_le(out, 0x90 + i, 8);
	if (size)
		common_write_le(out, copied, 8);
}

static bool read_user(uint64_t abi, uint64_t size, uint64_t copied, struct kernel_event_sample *sample)
{
	const struct kernel_event event = {.samples = true, .stack = true, .dwarf = true};
	struct ptl_bytes out = {0};
	bool whole;

	begin(&out);
	common_write_le(&out, 0x401136, 8);
	put_ids(&out);
	common_write_le(&out, 1, 8);
	put_stack(&out, FRAMES);
	put_user(&out, abi, size, copied);
	for (size_t cut = 8; cut < out.size; cut++)
		assert_false(read_first(&event, &out, cut, sample));
	whole = read_first(&event, &out, out.size, sample);
	common_bytes_free(&out);
	return whole;
}

static void test_registers_and_stack(void **state)
{
	struct kernel_event_sample sample;

	(void)state;
	assert_true(read_user(PERF_SAMPLE_REGS_ABI_64, 16, 8, &sample));
	assert_int_equal(sample.callchain_count, FRAMES);
	assert_int_equal(common_load64(sample.registers + 16 * sizeof(uint64_t)), 0x7010);
	assert_int_equal(sample.stack_size, 8);
	assert_int_equal(common_load64(sample.stack), 0x90);
	/* A kernel thread has no registers. */
	assert_true(read_user(PERF_SAMPLE_REGS_ABI_NONE, 0, 0, &sample));
	assert_null(sample.registers);
	assert_int_equal(sample.stack_size, 0);
	assert_false(read_user(PERF_SAMPLE_REGS_ABI_64, 16, 17, &sample));
	assert_false(read_user(PERF_SAMPLE_REGS_ABI_64, 32, 8, &sample));
	assert_false(read_user(PERF_SAMPLE_REGS_ABI_64, UINT64_MAX, 8, &sample));
}

static void test_counts_that_are_not_true(void **state)
{
	static const uint64_t counts[] = {FRAMES + 1, UINT64_MAX, UINT64_MAX / 8, UINT64_MAX / 8 + 1, 1ull << 61};
	const struct kernel_event event = {.samples = true, .stack = true};

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct kernel_event_sample sample;
		struct ptl_bytes out = {0};

		begin(&out);
		common_write_le(&out, 0, 8);
		put_ids(&out);
		common_write_le(&out, 1, 8);
		put_stack(&out, counts[i]);
		assert_false(read_first(&event, &out, out.size, &sample));
		common_bytes_free(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_tracepoint),
		cmocka_unit_test(test_a_counter),
		cmocka_unit_test(test_registers_and_stack),
		cmocka_unit_test(test_counts_that_are_not_true),
	};

	return cmocka_run_group_tests_name("tracepoint_event", tests, NULL, NULL);
}
