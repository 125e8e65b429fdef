/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams of several inputs that are parts of one stream: finds them (docs/relogging.md). */
#include "format/relogger/joined.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/hash_map.h"
#include "format/relogger/control.h"
#include "format/relogger/input.h"
#include "format/relogger/relogger_internal.h"

#define COMPARED ((size_t)64 << 10) /* bytes compared at a time */

static const struct ptl_stream *source_of(const struct format_relogger_stream *stream)
{
	return ptl_stream_at(stream->input->trace, stream->number);
}

static int map_ids(const struct format_relogger_stream *stream, struct ptl_stream *mapped)
{
	int status;

	*mapped = *source_of(stream);
	status = ptl_relogger_map_id(stream->input, &mapped->cpu);
	if (!status)
		status = ptl_relogger_map_id(stream->input, &mapped->pid);
	return status ? status : ptl_relogger_map_id(stream->input, &mapped->tid);
}

static int have_same_owner(const struct format_relogger_stream *a, const struct format_relogger_stream *b, bool *same)
{
	struct ptl_stream x, y;
	int status = map_ids(a, &x);

	if (!status)
		status = map_ids(b, &y);
	*same = !status && x.kind == y.kind && x.cpu == y.cpu && x.pid == y.pid && x.tid == y.tid &&
		a->input->clock.shift == b->input->clock.shift &&
		(x.cpu != PTL_NO_CPU || x.pid != PTL_NO_ID || a->input->machines.first == b->input->machines.first);
	return status;
}

/*
 * Compares the bytes that both streams have in [at, end), a range of original positions. Missing bytes are no
 * difference.
 */
static int compare_bytes(const struct format_relogger_stream *a, const struct format_relogger_stream *b, uint64_t at,
			 uint64_t end, bool *same)
{
	uint8_t *bytes = malloc(2 * COMPARED);
	int status = bytes ? 0 : common_fail_memory("a comparison", 2 * COMPARED);

	*same = true;
	while (!status && *same && at < end) {
		const size_t wanted = end - at < COMPARED ? (size_t)(end - at) : COMPARED;
		size_t x = 0, y = 0;
		uint64_t hole_x, hole_y = 0;

		status = ptl_stream_read(a->input->trace, source_of(a)->id, at - a->origin.position, bytes, wanted, &x,
					 &hole_x);
		if (!status)
			status = ptl_stream_read(b->input->trace, source_of(b)->id, at - b->origin.position,
						 bytes + COMPARED, x ? x : wanted, &y, &hole_y);
		if (x && y) {
			x = x < y ? x : y;
			*same = memcmp(bytes, bytes + COMPARED, x) == 0;
			at += x;
		} else {
			const uint64_t hole = x ? hole_y : hole_x;

			if (!hole)
				break;
			at += hole;
		}
		if (!status)
			status = format_relogger_check(a->input->relogger);
	}
	free(bytes);
	return status;
}

static int have_same_bytes(const struct format_relogger_stream *a, const struct format_relogger_stream *b, bool *same)
{
	const uint64_t end_a = a->origin.position + source_of(a)->bytes;
	const uint64_t end_b = b->origin.position + source_of(b)->bytes;
	const uint64_t start = a->origin.position > b->origin.position ? a->origin.position : b->origin.position;
	const uint64_t end = end_a < end_b ? end_a : end_b;

	*same = true;
	if (source_of(a)->kind == PTL_KIND_EVENTS || start >= end)
		return 0;
	return compare_bytes(a, b, start, end, same);
}

/* Whether a leader, its members and a stream are parts of one stream: same owner, same bytes where two overlap. */
static int is_one(const struct format_relogger_stream *leader, const struct format_relogger_stream *stream, bool *one)
{
	int status = have_same_owner(leader, stream, one);

	for (; !status && *one && leader; leader = leader->member) {
		*one = leader->input != stream->input;
		if (*one)
			status = have_same_bytes(leader, stream, one);
		if (!status && !*one && leader->input != stream->input)
			format_relogger_warn(
				stream->input->relogger,
				"%s: stream %u says that it comes from where %s has other bytes: kept beside those",
				stream->input->name, source_of(stream)->id, leader->input->name);
	}
	return status;
}

static int join_stream(struct common_byte_map *leaders, struct ptl_relogger *relogger,
		       struct format_relogger_stream *stream)
{
	struct format_relogger_stream *leader, *last;
	uint8_t key[16 + 2 * sizeof(uint32_t)];
	const uint64_t *known;
	bool one;
	int status;

	memcpy(key, stream->origin.file, 16);
	memcpy(key + 16, &stream->origin.stream, sizeof(uint32_t));
	memcpy(key + 20, &source_of(stream)->kind, sizeof(uint32_t));
	known = common_byte_map_get(leaders, key, sizeof(key));
	if (!known)
		return common_byte_map_put(leaders, key, sizeof(key),
					   (uint64_t)stream->input->number << 32 | stream->number);
	leader = &relogger->inputs[*known >> 32]->streams[(uint32_t)*known];
	status = is_one(leader, stream, &one);
	if (status || !one)
		return status;
	for (last = leader; last->member;)
		last = last->member;
	last->member = stream;
	stream->leader = leader;
	leader->input->extent.joined = stream->input->extent.joined = true;
	relogger->dedup.any = true;
	return 0;
}

int format_relogger_join_streams(struct ptl_relogger *relogger)
{
	struct common_byte_map leaders = {0};
	int status = 0;

	for (size_t i = 0; !status && i < relogger->input_count; i++) {
		struct ptl_relogger_input *input = relogger->inputs[i];

		for (size_t j = 0; !status && j < ptl_stream_count(input->trace); j++)
			if (input->streams[j].origin.known)
				status = join_stream(&leaders, relogger, &input->streams[j]);
	}
	common_byte_map_free(&leaders);
	return status;
}
