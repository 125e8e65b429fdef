/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams of several inputs that are parts of one stream: finds them, and merges their bytes (docs/relogging.md). */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"
#include "format/reader/parts.h"
#include "format/relogger/relogger_internal.h"

#define COMPARED ((size_t)64 << 10) /* bytes compared at a time */

/* --- finding parts of one stream ----------------------------------------------------------------------- */

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
		a->input->time_shift == b->input->time_shift &&
		(x.cpu != PTL_NO_CPU || x.pid != PTL_NO_ID || a->input->machine == b->input->machine);
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
	leader->input->joined = stream->input->joined = true;
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

/* --- bytes -------------------------------------------------------------------------------------------- */

/* The kept part of a buffer, in original positions. */
struct piece {
	uint64_t first, end;
	const struct format_relogger_stream *stream;
	size_t entry;
};

struct pieces {
	struct piece *all;
	size_t count;
	uint64_t end; /* end of the streams, including holes; 0 if the streams are cut */
};

static int add_piece(struct pieces *pieces, const struct piece *piece)
{
	if (!common_vector_room(&pieces->all, pieces->count, sizeof(*pieces->all)))
		return common_fail_memory("buffers", pieces->count * sizeof(*pieces->all));
	pieces->all[pieces->count++] = *piece;
	return 0;
}

static int add_range(struct pieces *pieces, const struct format_relogger_stream *stream,
		     const struct ptl_stream_range *range)
{
	size_t count;
	const uint32_t *entries = format_stream_buffers(stream->input->trace, stream->number, &count);
	int status = 0;

	for (size_t i = 0; !status && i < count; i++) {
		const struct ptl_buffer *buffer = ptl_buffer_at(stream->input->trace, entries[i]);
		const uint64_t stop = buffer->position + buffer->raw_size;
		const uint64_t first = buffer->position > range->first ? buffer->position : range->first;
		const uint64_t end = stop < range->end ? stop : range->end;

		if (first < end)
			status = add_piece(pieces, &(struct piece){stream->origin.position + first,
								   stream->origin.position + end, stream, entries[i]});
	}
	return status;
}

static int add_stream(struct ptl_relogger *relogger, struct pieces *pieces, const struct format_relogger_stream *stream)
{
	static const struct ptl_stream_range everything = {0, UINT64_MAX};
	const uint64_t end = stream->origin.position + source_of(stream)->bytes;
	struct ptl_stream_plan plan;
	int status = format_relogger_plan_stream(relogger, stream->input, stream->number, &plan);

	if (status || plan.drop)
		return status;
	if (!plan.ranges) {
		pieces->end = end > pieces->end ? end : pieces->end;
		return add_range(pieces, stream, &everything);
	}
	for (size_t i = 0; !status && i < plan.range_count; i++)
		status = add_range(pieces, stream, &plan.ranges[i]);
	return status;
}

static int compare_pieces(const void *left, const void *right)
{
	const struct piece *a = left, *b = right;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return a->stream->input->number < b->stream->input->number
		       ? -1
		       : a->stream->input->number > b->stream->input->number;
}

/* Writes the bytes of a piece after *end. Damaged bytes are skipped, as another input may have them intact. */
static int write_piece(struct ptl_relogger *relogger, const struct format_relogger_stream *leader,
		       const struct piece *piece, uint64_t *end)
{
	struct ptl_relogger_input *input = piece->stream->input;
	const struct ptl_buffer *buffer = ptl_buffer_at(input->trace, piece->entry);
	const uint64_t first = piece->first > *end ? piece->first : *end;
	const uint64_t origin = piece->stream->origin.position;
	const bool whole = first - origin == buffer->position && piece->end - first == buffer->raw_size;
	const uint64_t time = buffer->first_time ? buffer->first_time + (uint64_t)input->time_shift : 0;
	int status = 0;

	input->shared_bytes += (piece->end < first ? piece->end : first) - piece->first;
	format_relogger_progress(relogger, buffer->stored_size);
	if (first >= piece->end)
		return format_relogger_check(relogger);
	if (first > *end && !whole) {
		status = format_relogger_copy_hole(relogger, leader, first - *end, time);
		*end = first;
	}
	if (!status)
		status = format_relogger_copy_range(relogger, input, piece->stream->number, piece->entry,
						    first - origin, piece->end - origin);
	if (!status)
		*end = piece->end;
	return status && !format_is_damage(status) ? status : format_relogger_check(relogger);
}

static int write_pieces(struct ptl_relogger *relogger, struct format_relogger_stream *leader,
			const struct pieces *pieces)
{
	uint64_t end = pieces->count ? pieces->all[0].first : leader->origin.position;
	int status;

	for (struct format_relogger_stream *member = leader; member; member = member->member)
		member->cut = end - member->origin.position;
	status = format_relogger_declare_stream(relogger, leader->input, leader->number);
	for (size_t i = 0; !status && i < pieces->count; i++)
		status = write_piece(relogger, leader, &pieces->all[i], &end);
	if (!status && pieces->end > end)
		status = format_relogger_copy_hole(relogger, leader, pieces->end - end, 0);
	return status;
}

int format_relogger_pass_joined(struct ptl_relogger *relogger, struct format_relogger_stream *leader)
{
	struct pieces pieces = {NULL};
	int status = 0;

	for (const struct format_relogger_stream *member = leader; !status && member; member = member->member)
		status = add_stream(relogger, &pieces, member);
	if (!status && (pieces.count || pieces.end)) {
		if (pieces.count)
			qsort(pieces.all, pieces.count, sizeof(*pieces.all), compare_pieces);
		status = write_pieces(relogger, leader, &pieces);
	}
	free(pieces.all);
	return status;
}
