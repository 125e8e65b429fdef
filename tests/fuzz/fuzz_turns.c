/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes packets of a CPU on which two processes take turns: parts of segments, and a return stack that continues over
 * them, with every engine; also through a kernel that switches between the processes.
 * Input: u8 number of switches, a u8 time per switch, then packets behind a PSB+.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ptl/kernel.h>
#include <ptl/pt.h>
#include <ptl/reader.h>
#include <ptl/symbols.h>
#include <ptl/writer.h>

#include "analysis/profile/stats.h"
#include "common/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PSB_PLUS                                                                                                       \
	"\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x19\x00\x10\0\0\0\0\0\x99\x01\x7d\0\0\x40\0" \
	"\0\0\x02\x23"
#define PSB_PLUS_SIZE (sizeof(PSB_PLUS) - 1)
#define SIZE_LIMIT 2048
#define BASE 0x400000

/* call f; call g; syscall; g: nop; call f; jz g; syscall; ret; f: syscall; nop; ret. The second process has no jz. */
static const uint8_t codes[2][32] = {
	{0xe8, 0x12, 0, 0, 0,    0xe8, 2,    0,    0,    0,    0x0f, 0x05, 0x90, 0xe8,
	 5,    0,    0, 0, 0x74, 0xf8, 0x0f, 0x05, 0xc3, 0x0f, 0x05, 0x90, 0xc3},
	{0xe8, 0x12, 0, 0, 0,    0xe8, 2,    0,    0,    0,    0x0f, 0x05, 0x90, 0xe8,
	 5,    0,    0, 0, 0x90, 0x90, 0x0f, 0x05, 0xc3, 0x0f, 0x05, 0x90, 0xc3},
};

#define KERNEL 0xffffffff81000000
#define SWITCH_TO 8

/* call __switch_to; sysretq; __switch_to: jz behind; ret */
static const uint8_t kernel_code[] = {0xe8, 3, 0, 0, 0, 0x48, 0x0f, 0x07, 0x74, 0, 0xc3};

/* Requires success. */
static void must(int status)
{
	if (status < 0)
		abort();
}

static void put(struct ptl_writer *writer, uint32_t stream, struct ptl_event *event, struct ptl_bytes *storage)
{
	must(ptl_writer_event(writer, stream, event));
	common_bytes_free(storage);
}

static void write_process(struct ptl_writer *writer, uint32_t stream, unsigned number)
{
	const struct ptl_process_event process = {.process_id = number, .image_file_name = "p", .command_line = "p"};
	const struct ptl_thread_event thread = {.process_id = number, .thread_id = number, .name = ""};
	struct ptl_image_event image = {
		.base = BASE, .size = 4096, .process_id = number, .file_name = "p", .has_code = true};
	struct ptl_event event = {.time = 1};
	struct ptl_bytes storage = {0};

	must(ptl_process_encode(&process, PTL_OPCODE_START, &storage, &event));
	put(writer, stream, &event, &storage);
	event = (struct ptl_event){.time = 1};
	must(ptl_thread_encode(&thread, PTL_OPCODE_START, &storage, &event));
	put(writer, stream, &event, &storage);
	must(ptl_writer_blob(writer, PTL_BLOB_CODE, codes[number - 1], sizeof(codes[0]), image.code));
	event = (struct ptl_event){.time = 1};
	must(ptl_image_encode(&image, PTL_OPCODE_LOAD, &storage, &event));
	put(writer, stream, &event, &storage);
}

/* Writes the kernel's code, shared by all processes: switches appear in the flow. */
static void write_kernel(struct ptl_writer *writer, uint32_t stream)
{
	const struct ptl_symbol symbol = {.address = KERNEL + SWITCH_TO,
					  .size = sizeof(kernel_code) - SWITCH_TO,
					  .name = "__switch_to",
					  .type = 'T'};
	struct ptl_image_event image = {.base = KERNEL,
					.size = 4096,
					.default_base = KERNEL,
					.file_name = "[kernel]",
					.has_code = true,
					.has_symbols = true};
	struct ptl_event event = {.time = 1};
	struct ptl_bytes symbols = {0}, storage = {0};

	must(ptl_symbols_encode(&symbol, 1, &symbols));
	must(ptl_writer_blob(writer, PTL_BLOB_CODE, kernel_code, sizeof(kernel_code), image.code));
	must(ptl_writer_blob(writer, PTL_BLOB_SYMBOLS, symbols.data, symbols.size, image.symbols));
	must(ptl_image_encode(&image, PTL_OPCODE_LOAD, &storage, &event));
	put(writer, stream, &event, &storage);
	common_bytes_free(&symbols);
}

/* The processes take turns. */
static void write_switches(struct ptl_writer *writer, uint32_t stream, const uint8_t *times, size_t count)
{
	uint64_t time = 2;

	for (size_t i = 0; i < count; i++) {
		const uint32_t next = 1 + (uint32_t)(i & 1);
		const struct ptl_switch_event data = {.new_thread = next, .old_thread = 3 - next};
		struct ptl_event event = {0};
		struct ptl_bytes storage = {0};

		time += 1 + times[i] * 0x40u;
		must(ptl_switch_encode(&data, &storage, &event));
		event.time = time;
		event.cpu = 1;
		event.pid = event.tid = next;
		put(writer, stream, &event, &storage);
	}
}

static void write_packets(struct ptl_writer *writer, const uint8_t *bytes, size_t size)
{
	struct ptl_stream stream = {.kind = PTL_KIND_PT, .cpu = 1, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	size_t at = 0;

	must(ptl_writer_stream(writer, &stream));
	for (uint64_t time = 0x1000; (at = ptl_pt_find_psb(bytes, size, at)) < size;
	     at += PTL_PT_PSB_SIZE, time += 0x400)
		must(ptl_writer_psb(writer, stream.id, at, time));
	must(ptl_writer_bytes(writer, stream.id, bytes, size, 0x1000));
}

static struct ptl_trace *make_trace(const uint8_t *times, size_t count, const uint8_t *bytes, size_t size)
{
	const struct ptl_machine machine = {
		.source = "fuzz", .mode = 64, .clock = PTL_CLOCK_MONOTONIC, .tsc_multiplier = 1};
	struct ptl_stream events = {.kind = PTL_KIND_EVENTS, .cpu = PTL_NO_CPU, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	const int fd = memfd_create("trace", MFD_CLOEXEC);
	struct ptl_writer *writer;
	struct ptl_trace *trace = NULL;

	must(ptl_writer_open(dup(fd), NULL, &writer));
	must(ptl_writer_machine(writer, &machine));
	must(ptl_writer_stream(writer, &events));
	write_process(writer, events.id, 1);
	write_process(writer, events.id, 2);
	write_kernel(writer, events.id);
	write_switches(writer, events.id, times, count);
	write_packets(writer, bytes, size);
	must(ptl_writer_close(writer));
	must(ptl_open_fd(fd, "trace", NULL, &trace));
	return trace;
}

/*
 * Engines may disagree about hostile packets. One engine must give the same for counting and for visiting every block.
 */
static void decode(struct ptl_trace *trace, size_t size)
{
	struct flow_timeline *timeline;

	must(flow_timeline_build(trace, &timeline));
	for (size_t i = 0; flow_engines[i]; i++) {
		const struct flow_view_options options = {.engine = flow_engines[i], .threads = 1};
		struct analysis_stats counted, seen;

		must(analysis_stats_run(trace, timeline, &options,
					&(struct analysis_stats_wanted){.hash = false, .gap_limit = 10}, &counted));
		must(analysis_stats_run(trace, timeline, &options,
					&(struct analysis_stats_wanted){.hash = true, .gap_limit = 10}, &seen));
		if (counted.total.pt_bytes != size || counted.total.instructions != seen.total.instructions ||
		    counted.total.gaps != seen.total.gaps)
			abort();
		analysis_stats_free(&counted);
		analysis_stats_free(&seen);
	}
	flow_timeline_free(timeline);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t count = size ? data[0] : 0;
	uint8_t bytes[PSB_PLUS_SIZE + SIZE_LIMIT];
	struct ptl_trace *trace;

	if (size < count + 1 || size > SIZE_LIMIT)
		return 0;
	memcpy(bytes, PSB_PLUS, PSB_PLUS_SIZE);
	memcpy(bytes + PSB_PLUS_SIZE, data + 1 + count, size - count - 1);
	size += PSB_PLUS_SIZE - count - 1;
	trace = make_trace(data + 1, count, bytes, size);
	decode(trace, size);
	ptl_close(trace);
	return 0;
}
