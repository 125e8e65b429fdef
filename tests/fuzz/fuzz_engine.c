/* SPDX-License-Identifier: BSD-2-Clause */
/* Hostile PT bytes and hostile code, through timeline, segments, engines and statistics. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ptl/kernel.h>
#include <ptl/reader.h>
#include <ptl/writer.h>

#include "analysis/profile/stats.h"
#include "common/bytes.h"

/* Input: a byte of flags, u16 size of an image's code, u16 size of a code event's bytes, then these bytes, then PT. */
#define FLAG_32_BIT 0x01
#define FLAG_HARDWARE 0x02 /* versions of the code follow the packets' time */
#define FLAG_HOLE 0x04     /* a hole separates both halves of the PT */
#define FLAG_HASH 0x08
#define FLAG_CHANGES 0x10 /* the event's code reverts to the image's code, one byte more every 100 ns, repeatedly */
#define CHANGES 40

#define PID 1
#define BASE 0x400000ull

struct input {
	uint8_t flags;
	const uint8_t *code, *event, *pt;
	size_t code_size, event_size, pt_size;
};

/* Requires success, except without memory. */
static void must(int status)
{
	if (status < 0 && status != PTL_NO_MEMORY)
		abort();
}

/* Writes the code event; the last `changes` bytes are the image's bytes. */
static void write_event(struct ptl_writer *writer, uint32_t stream, const struct input *input, uint64_t time,
			size_t changes)
{
	struct ptl_code_event code = {
		.process_id = PID,
		.base = BASE + input->code_size / 2,
		.size = input->event_size,
	};
	struct ptl_event event = {.time = time};
	struct ptl_bytes storage = {0};
	uint8_t *bytes = malloc(input->event_size);

	if (!bytes)
		abort();
	memcpy(bytes, input->event, input->event_size);
	for (size_t i = input->event_size - changes; i < input->event_size; i++)
		if (input->code_size / 2 + i < input->code_size)
			bytes[i] = input->code[input->code_size / 2 + i];
	must(ptl_writer_blob(writer, PTL_BLOB_CODE, bytes, input->event_size, code.code));
	must(ptl_code_encode(&code, &storage, &event));
	must(ptl_writer_event(writer, stream, &event));
	common_bytes_free(&storage);
	free(bytes);
}

static void write_code(struct ptl_writer *writer, const struct input *input)
{
	struct ptl_stream stream = {
		.kind = PTL_KIND_EVENTS,
		.cpu = PTL_NO_CPU,
		.pid = PTL_NO_ID,
		.tid = PTL_NO_ID,
	};
	struct ptl_image_event image = {
		.base = BASE,
		.size = input->code_size + 16,
		.process_id = PID,
		.file_name = "code",
		.has_code = true,
	};
	struct ptl_event event = {.time = 1};
	struct ptl_bytes storage = {0};

	must(ptl_writer_stream(writer, &stream));
	must(ptl_writer_blob(writer, PTL_BLOB_CODE, input->code, input->code_size, image.code));
	must(ptl_image_encode(&image, PTL_OPCODE_LOAD, &storage, &event));
	must(ptl_writer_event(writer, stream.id, &event));
	common_bytes_free(&storage);
	if (!input->event_size)
		return;
	write_event(writer, stream.id, input, 1000, 0);
	for (uint64_t i = 1; i < CHANGES && input->flags & FLAG_CHANGES; i++)
		write_event(writer, stream.id, input, 1000 + 100 * i, i % (input->event_size + 1));
}

static void write_pt(struct ptl_writer *writer, const struct input *input)
{
	struct ptl_stream stream = {.kind = PTL_KIND_PT, .cpu = PTL_NO_CPU, .pid = PID, .tid = PID};
	size_t half = input->flags & FLAG_HOLE ? input->pt_size / 2 : input->pt_size;

	must(ptl_writer_stream(writer, &stream));
	must(ptl_writer_bytes(writer, stream.id, input->pt, half, 500));
	if (half < input->pt_size) {
		must(ptl_writer_hole(writer, stream.id, 64, 600));
		must(ptl_writer_bytes(writer, stream.id, input->pt + half, input->pt_size - half, 600));
	}
}

static struct ptl_trace *make_trace(const struct input *input)
{
	struct ptl_machine machine = {
		.source = "fuzz",
		.software = !(input->flags & FLAG_HARDWARE),
		.vendor = PTL_VENDOR_INTEL,
		.family = 6,
		.model = 0x9e,
		.mode = input->flags & FLAG_32_BIT ? 32 : 64,
		.clock = PTL_CLOCK_MONOTONIC,
		.tsc_multiplier = 1,
		.ctc_numerator = 2,
		.ctc_denominator = 1,
		.nominal_ratio = 10,
	};
	int fd = memfd_create("trace", MFD_CLOEXEC);
	struct ptl_writer *writer;
	struct ptl_trace *trace = NULL;

	if (fd < 0 || ptl_writer_open(dup(fd), NULL, &writer) < 0)
		abort();
	must(ptl_writer_machine(writer, &machine));
	write_code(writer, input);
	write_pt(writer, input);
	must(ptl_writer_close(writer));
	must(ptl_open_fd(fd, "trace", NULL, &trace));
	return trace;
}

static void decode(struct ptl_trace *trace, const struct input *input)
{
	struct flow_timeline *timeline;

	must(flow_timeline_build(trace, &timeline));
	for (size_t i = 0; flow_engines[i]; i++) {
		const struct flow_view_options options = {.engine = flow_engines[i], .threads = 1};
		const bool walks = input->flags & FLAG_HASH;
		const struct analysis_stats_wanted wanted = {.hash = walks, .taken = walks, .gap_limit = 10};
		struct analysis_stats stats;

		must(analysis_stats_run(trace, timeline, &options, &wanted, &stats));
		/* Each branch was taken or not taken, except before missing flow. */
		if (stats.total.taken + stats.total.not_taken > stats.total.branches)
			abort();
		/* Every byte counts once, or lies in a gap. */
		if (stats.total.pt_bytes < input->pt_size)
			abort();
		analysis_stats_free(&stats);
	}
	flow_timeline_free(timeline);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct common_cursor cursor = common_cursor(data, size);
	struct input input = {.flags = common_read8(&cursor)};
	struct ptl_trace *trace;

	input.code_size = common_read16(&cursor);
	input.event_size = common_read16(&cursor);
	input.code = common_read_bytes(&cursor, input.code_size);
	input.event = common_read_bytes(&cursor, input.event_size);
	if (cursor.failed || !input.code_size)
		return 0;
	input.pt_size = common_cursor_left(&cursor);
	input.pt = common_read_bytes(&cursor, input.pt_size);
	if (!input.pt_size)
		return 0;
	trace = make_trace(&input);
	decode(trace, &input);
	ptl_close(trace);
	return 0;
}
