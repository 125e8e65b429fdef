/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes samples of tracepoints and counters in the kernel's ring.
 * Input: u8 requested contents (1: a counter, 2: a call chain, 4: a copy of the stack), then the record behind its
 * header. All pointers of a sample lie in the record. A stack copy is unwound as a stack of this process, from an
 * address in its code.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/kernel_event/event.h"
#include "record/kernel_event/unwind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const uint8_t *record, size_t size, const uint8_t *piece, size_t piece_size)
{
	if (piece_size && (piece < record || piece_size > size || (size_t)(piece - record) > size - piece_size))
		abort();
}

static void check_sample(const struct kernel_event_sample *sample, const uint8_t *record, size_t size)
{
	if (sample->callchain_count > size)
		abort();
	check(record, size, sample->callchain, sample->callchain_count * 8);
	check(record, size, sample->raw, sample->raw_size);
	if (sample->registers)
		check(record, size, sample->registers, ELF_UNWIND_REGISTER_COUNT * sizeof(uint64_t));
	check(record, size, sample->stack, sample->stack_size);
}

#define NEAR 0xffffu

static void unwind(const struct kernel_event_sample *sample)
{
	/* The files of this process are read once. */
	static struct kernel_event_unwinder unwinder;
	struct elf_unwind_sample copy = {
		.pid = (uint32_t)getpid(), .stack = sample->stack, .stack_size = sample->stack_size};
	uint64_t frames[ELF_UNWIND_FRAMES], *ip = &copy.registers[ELF_UNWIND_IP];
	int count;

	memcpy(copy.registers, sample->registers, sizeof(copy.registers));
	*ip = (uintptr_t)check_sample + (*ip & NEAR);
	count = kernel_event_unwind(&unwinder, &copy, 0, frames);
	if (count < 1 || count > ELF_UNWIND_FRAMES || frames[0] != *ip)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t record_size = sizeof(struct perf_event_header) + size - 1;
	struct kernel_event event = {0};
	struct perf_event_header *record;
	struct kernel_event_sample sample;
	uint64_t id;

	if (!size || record_size > UINT16_MAX)
		return 0;
	event.samples = data[0] & 1;
	event.stack = data[0] & 2;
	event.dwarf = data[0] & 4;
	record = malloc(record_size);
	if (!record)
		abort();
	*record = (struct perf_event_header){.type = PERF_RECORD_SAMPLE, .size = (uint16_t)record_size};
	memcpy(record + 1, data + 1, size - 1);
	if (kernel_event_sample_read(&event, record, &sample)) {
		check_sample(&sample, (const uint8_t *)record, record_size);
		if (!kernel_event_sample_id(record, &id) || id != sample.id)
			abort();
		if (event.dwarf && sample.registers && sample.stack)
			unwind(&sample);
	}
	free(record);
	return 0;
}
