/* SPDX-License-Identifier: BSD-2-Clause */
/* Merges the bytes of streams that are parts of one stream (docs/relogging.md). */
#include "format/relogger/joined_bytes.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/vector.h"
#include "format/reader/parts.h"
#include "format/relogger/control.h"
#include "format/relogger/copy.h"
#include "format/relogger/input.h"
#include "format/relogger/stages.h"

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
	const uint64_t end = stream->origin.position + ptl_stream_at(stream->input->trace, stream->number)->bytes;
	struct ptl_stream_plan plan;
	int status = format_stages_stream(relogger, stream->input, stream->number, &plan);

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
	const uint64_t time = buffer->first_time ? buffer->first_time + (uint64_t)input->clock.shift : 0;
	int status = 0;

	input->extent.shared_bytes += (piece->end < first ? piece->end : first) - piece->first;
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
