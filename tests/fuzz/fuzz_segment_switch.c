/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the cutting of a CPU's PT at context switches. Input: u8 number of switches, for each a u8 of time, then
 * packets behind a PSB+.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ptl/reader.h>
#include <ptl/writer.h>

#include "common/error.h"
#include "flow/segment/replay.h"
#include "flow/segment/switch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PSB_PLUS                                                                                                       \
	"\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x19\x00\x10\0\0\0\0\0\x99\x01\x7d\0\0\x40\0" \
	"\0\0\x02\x23"
#define PSB_PLUS_SIZE (sizeof(PSB_PLUS) - 1)
#define SIZE_LIMIT 4096

static void need(bool holds)
{
	if (!holds)
		abort();
}

static struct ptl_trace *make_trace(const uint8_t *bytes, size_t size)
{
	const struct ptl_machine machine = {
		.source = "fuzz", .mode = 64, .clock = PTL_CLOCK_MONOTONIC, .tsc_multiplier = 1};
	struct ptl_stream stream = {.kind = PTL_KIND_PT, .cpu = 1, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	const int fd = memfd_create("trace", MFD_CLOEXEC);
	struct ptl_writer *writer;
	struct ptl_trace *trace = NULL;

	need(ptl_writer_open(dup(fd), NULL, &writer) == 0 && ptl_writer_machine(writer, &machine) == 0 &&
	     ptl_writer_stream(writer, &stream) == 0 && ptl_writer_psb(writer, stream.id, 0, 0x1000) == 0 &&
	     ptl_writer_bytes(writer, stream.id, bytes, size, 0x1000) == 0 && ptl_writer_close(writer) == 0 &&
	     ptl_open_fd(fd, "fuzz", NULL, &trace) == 0);
	return trace;
}

/* Checks that each part can be replayed or is refused, lies in the segment, and occurs once. */
static void check(const struct flow_segment_pieces *pieces, const uint8_t *bytes, size_t size, size_t switches)
{
	for (size_t i = 0; i < pieces->count; i++) {
		const struct flow_segment_piece *piece = &pieces->pieces[i];
		const size_t end = i + 1 < pieces->count ? (size_t)piece[1].begin : size;
		uint8_t *part = malloc(end ? end : 1);
		int status;

		need(part && piece->owner < switches && piece->begin <= end && (i || !piece->begin));
		memcpy(part, bytes, end);
		status = flow_segment_replay(part, end, (size_t)piece->begin, &(struct flow_errata){0});
		need(status == 0 || !memcmp(part, bytes, end));
		need(!end || !memcmp(part, PSB_PLUS, end < 16 ? end : 16));
		free(part);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct flow_switch switches[256] = {{0}};
	const size_t count = size ? data[0] + (size_t)1 : 1;
	struct flow_segment segment = {.cpu = 1, .time = 0x1000, .has_psb = true};
	struct flow_segment_pieces pieces;
	uint8_t *bytes;
	struct ptl_trace *trace;

	if (size < count || size > SIZE_LIMIT)
		return 0;
	for (size_t i = 1; i < count; i++)
		switches[i] = (struct flow_switch){switches[i - 1].time + 1 + data[i] * 0x40u, (uint32_t)i,
						   (uint32_t)i};
	segment.size = PSB_PLUS_SIZE + size - count;
	bytes = malloc((size_t)segment.size);
	need(bytes);
	memcpy(bytes, PSB_PLUS, PSB_PLUS_SIZE);
	if (size > count)
		memcpy(bytes + PSB_PLUS_SIZE, data + count, size - count);
	trace = make_trace(bytes, (size_t)segment.size);
	for (size_t i = 0; i < ptl_stream_count(trace); i++)
		if (ptl_stream_at(trace, i)->kind == PTL_KIND_PT)
			segment.stream = ptl_stream_at(trace, i)->id;
	need(flow_segment_pieces_find(trace, &segment, switches, count, &pieces) == 0);
	check(&pieces, bytes, (size_t)segment.size, count);
	flow_segment_pieces_free(&pieces);
	ptl_close(trace);
	free(bytes);
	return 0;
}
