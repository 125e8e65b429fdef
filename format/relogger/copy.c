/* SPDX-License-Identifier: BSD-2-Clause */
/* Passes streams and blobs: buffer by buffer unchanged, or only the wanted parts. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/partition.h"
#include "format/reader/parts.h"
#include "format/relogger/relogger_internal.h"
#include "format/writer/copy.h"

/* --- one buffer --------------------------------------------------------------------------------------- */

/* Returns the PSBs of a stream within [first, end). */
static const struct ptl_psb *find_psbs(const struct ptl_trace *trace, size_t stream, uint64_t first, uint64_t end,
				       size_t *count)
{
	size_t psb_count;
	const struct ptl_psb *psbs = format_stream_psbs(trace, stream, &psb_count);
	const size_t low = COMMON_PARTITION(psb_count, at, psbs[at].offset < first);

	for (*count = 0; low + *count < psb_count; (*count)++)
		if (psbs[low + *count].offset >= end)
			break;
	return *count ? psbs + low : NULL;
}

/* Copies a whole buffer. own_psbs: replaces the buffer's list of PSBs by the stream's PSBs within the buffer. */
static int copy_whole(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream, size_t entry,
		      bool own_psbs, int (*look)(void *context, uint64_t offset, const uint8_t *data, size_t size))
{
	const struct ptl_stream *source = ptl_stream_at(input->trace, stream);
	const struct ptl_buffer *buffer = ptl_buffer_at(input->trace, entry);
	struct format_copy_change change = {
		.stream = input->streams[stream].id,
		.time_shift = input->time_shift,
		.position_cut = input->streams[stream].cut,
		.recompress = relogger->recompress,
		.own_psbs = own_psbs && source->kind == PTL_KIND_PT,
		.look = look,
		.look_context = input,
	};
	int status;

	if (change.own_psbs)
		change.psbs = find_psbs(input->trace, stream, buffer->position, buffer->position + buffer->raw_size,
					&change.psb_count);
	status = format_writer_copy_changed(relogger->writer, input->trace, entry, &change);
	if (relogger->recompress)
		relogger->counts.buffers_decoded += !status;
	else
		relogger->counts.buffers_copied += !status;
	return status;
}

static int copy_psbs(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream, uint64_t first,
		     uint64_t end)
{
	const struct ptl_stream *source = ptl_stream_at(input->trace, stream);
	const struct format_relogger_stream *target = &input->streams[stream];
	size_t count = 0;
	const struct ptl_psb *psbs = find_psbs(input->trace, stream, first, end, &count);
	int status = 0;

	if (source->kind != PTL_KIND_PT)
		return 0;
	for (size_t i = 0; !status && i < count; i++)
		status = ptl_writer_psb(relogger->writer, target->id, psbs[i].offset - target->cut,
					psbs[i].time ? psbs[i].time + (uint64_t)input->time_shift : 0);
	return status;
}

/* Copies the bytes [first, end) of the stream, which lie in this buffer. */
static int copy_part(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream, size_t entry,
		     uint64_t first, uint64_t end)
{
	const struct ptl_buffer *buffer = ptl_buffer_at(input->trace, entry);
	const struct format_relogger_stream *target = &input->streams[stream];
	const uint64_t time = buffer->first_time ? buffer->first_time + (uint64_t)input->time_shift : 0;
	const uint64_t last = buffer->last_time ? buffer->last_time + (uint64_t)input->time_shift : 0;
	const uint8_t *data;
	size_t size;
	int status = ptl_buffer_acquire(input->trace, entry, &data, &size);

	if (status)
		return status;
	status = copy_psbs(relogger, input, stream, first, end);
	data += first - buffer->position;
	if (!status)
		status = ptl_writer_bytes(relogger->writer, target->id, data, end - first - 1, time);
	/* Within the buffer's time span, the time of the bytes is unknown, so the copy gets the whole span. */
	if (!status)
		status = ptl_writer_bytes(relogger->writer, target->id, data + (end - first - 1), 1, last);
	ptl_buffer_release(input->trace, entry);
	relogger->counts.buffers_decoded++;
	return status;
}

/* --- one stream --------------------------------------------------------------------------------------- */

int format_relogger_copy_hole(struct ptl_relogger *relogger, const struct format_relogger_stream *target, uint64_t size,
			      uint64_t time)
{
	return size ? ptl_writer_hole(relogger->writer, target->id, size, time) : 0;
}

int format_relogger_copy_range(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
			       size_t entry, uint64_t first, uint64_t end)
{
	const struct ptl_buffer *buffer = ptl_buffer_at(input->trace, entry);

	if (first == buffer->position && end == first + buffer->raw_size)
		return copy_whole(relogger, input, stream, entry, true, NULL);
	return copy_part(relogger, input, stream, entry, first, end);
}

/* Copies the bytes of a buffer that lie within the ranges. *end: position after the bytes written before. */
static int copy_ranges(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream, size_t entry,
		       const struct ptl_stream_plan *plan, uint64_t *end)
{
	const struct ptl_buffer *buffer = ptl_buffer_at(input->trace, entry);
	const uint64_t start = buffer->position, stop = start + buffer->raw_size;
	const uint64_t time = buffer->first_time ? buffer->first_time + (uint64_t)input->time_shift : 0;
	int status = 0;

	for (size_t i = 0; !status && i < plan->range_count; i++) {
		const uint64_t first = plan->ranges[i].first > start ? plan->ranges[i].first : start;
		const uint64_t last = plan->ranges[i].end < stop ? plan->ranges[i].end : stop;

		if (first >= last)
			continue;
		/* A whole buffer implies the hole before it by its position. */
		if (first > *end && (first != start || last != stop)) {
			status = format_relogger_copy_hole(relogger, &input->streams[stream], first - *end, time);
			*end = first;
		}
		if (!status)
			status = format_relogger_copy_range(relogger, input, stream, entry, first, last);
		if (!status)
			*end = last;
	}
	return status;
}

/* Returns the status of copying a buffer, where damage is no reason to end. */
static int status_after_copy(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t entry, int status)
{
	if (status && !format_is_damage(status))
		return status;
	format_relogger_progress(relogger, ptl_buffer_at(input->trace, entry)->stored_size);
	return format_relogger_check(relogger);
}

int format_relogger_copy_buffer(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
				size_t entry,
				int (*look)(void *context, uint64_t offset, const uint8_t *data, size_t size))
{
	return status_after_copy(relogger, input, entry, copy_whole(relogger, input, stream, entry, false, look));
}

int format_relogger_copy_stream(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
				const struct ptl_stream_plan *plan)
{
	size_t count;
	const uint32_t *entries = format_stream_buffers(input->trace, stream, &count);
	const bool all = !plan || !plan->ranges;
	uint64_t end = all ? 0 : plan->ranges[0].first;

	for (size_t i = 0; i < count; i++) {
		const size_t entry = entries[i];
		const int status = all ? format_relogger_copy_buffer(relogger, input, stream, entry, NULL)
				       : status_after_copy(relogger, input, entry,
							   copy_ranges(relogger, input, stream, entry, plan, &end));

		if (status)
			return status;
	}
	return 0;
}

/* Checks a plan. Later stages can only narrow the plans of earlier stages. */
static int check_plan(const struct ptl_stream_plan *plan)
{
	for (size_t i = 0; i < plan->range_count; i++)
		if (!plan->ranges || plan->ranges[i].first >= plan->ranges[i].end ||
		    (i && plan->ranges[i].first < plan->ranges[i - 1].end))
			return common_fail(PTL_MISUSE, "range %zu of a stream's plan is empty or out of order", i);
	return 0;
}

int format_relogger_plan_stream(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
				struct ptl_stream_plan *plan)
{
	int status = 0;

	*plan = (struct ptl_stream_plan){false};
	for (size_t i = 0; !status && !plan->drop && i < relogger->stage_count; i++) {
		struct format_relogger_stage *stage = relogger->stages[i];

		relogger->stage = i;
		if (stage->callbacks.stream)
			status = stage->callbacks.stream(stage->context, relogger, input,
							 ptl_stream_at(input->trace, stream), plan);
		if (!status)
			status = check_plan(plan);
	}
	plan->drop |= plan->ranges && !plan->range_count;
	return status;
}

static int pass_stream(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream)
{
	struct format_relogger_stream *target = &input->streams[stream];
	struct ptl_stream_plan plan;
	int status;

	if (target->leader)
		return 0; /* passes together with its leader */
	if (target->member)
		return format_relogger_pass_joined(relogger, target);
	status = format_relogger_plan_stream(relogger, input, stream, &plan);
	if (status || plan.drop)
		return status;
	target->cut = plan.ranges ? plan.ranges[0].first : 0;
	status = format_relogger_declare_stream(relogger, input, stream);
	if (status)
		return status;
	return format_relogger_copy_stream(relogger, input, stream, &plan);
}

int format_relogger_pass_streams(struct ptl_relogger *relogger)
{
	int status = 0;

	for (size_t i = 0; i < relogger->input_count; i++) {
		struct ptl_relogger_input *input = relogger->inputs[i];

		for (size_t j = 0; !status && !input->whole && j < ptl_stream_count(input->trace); j++) {
			const uint32_t kind = ptl_stream_at(input->trace, j)->kind;

			if (kind != PTL_KIND_METADATA && kind != PTL_KIND_EVENTS && kind != PTL_KIND_BLOB &&
			    kind != PTL_KIND_INDEX)
				status = pass_stream(relogger, input, j);
		}
	}
	return status;
}

/* --- blobs -------------------------------------------------------------------------------------------- */

/* Drops a damaged blob if a later input has the same blob, which may be intact there. PTL_NO_MEMORY. */
static int find_better(struct ptl_relogger_input *input, size_t blob, bool *keep)
{
	const struct ptl_relogger *relogger = input->relogger;

	for (size_t i = input->number + 1; *keep && i < relogger->input_count; i++) {
		int status;

		if (!ptl_blob_find(relogger->inputs[i]->trace, ptl_blob_at(input->trace, blob)->hash))
			continue;
		status = format_blob_verify(input->trace, blob);
		if (status == PTL_NO_MEMORY)
			return status;
		*keep = !status;
		break;
	}
	return 0;
}

static int is_wanted_blob(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t blob, bool *keep)
{
	const struct ptl_blob_info *info = ptl_blob_at(input->trace, blob);
	int status = 0;

	*keep = !format_writer_has_blob(relogger->writer, info->hash);
	relogger->counts.blobs_shared += !*keep;
	for (size_t i = 0; !status && *keep && i < relogger->stage_count; i++) {
		struct format_relogger_stage *stage = relogger->stages[i];

		relogger->stage = i;
		if (stage->callbacks.blob)
			status = stage->callbacks.blob(stage->context, relogger, input, info, keep);
	}
	/* Checked last, as find_better reads the whole blob. */
	return status ? status : find_better(input, blob, keep);
}

/* Bits of a buffer: has a piece that is kept, has a piece that is dropped. */
enum { PIECE_KEPT = 1, PIECE_LEFT = 2 };

/* Asks the stages about each blob. wanted: array by blob; buffers: array by buffer. */
static int decide(struct ptl_relogger *relogger, struct ptl_relogger_input *input, uint8_t *wanted, uint8_t *buffers)
{
	const struct ptl_trace *trace = input->trace;

	for (size_t i = 0; i < ptl_blob_count(trace); i++) {
		struct format_blob_piece piece;
		bool keep;
		const int status = is_wanted_blob(relogger, input, i, &keep);

		if (status)
			return status;
		wanted[i] = keep;
		for (uint32_t at = 0; format_blob_piece_of(trace, i, &at, &piece);)
			buffers[piece.entry] |= keep ? PIECE_KEPT : PIECE_LEFT;
	}
	return 0;
}

int format_relogger_copy_blobs(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
			       size_t entry)
{
	const int status = copy_whole(relogger, input, stream, entry, false, NULL);

	return status && !format_is_damage(status) ? status : format_relogger_check(relogger);
}

/* Copies buffers of which everything is wanted, and buffers without known blobs. */
static int copy_whole_buffers(struct ptl_relogger *relogger, struct ptl_relogger_input *input, const uint8_t *buffers)
{
	const struct ptl_trace *trace = input->trace;

	for (size_t i = 0; i < ptl_stream_count(trace); i++) {
		size_t count;
		const uint32_t *entries = format_stream_buffers(trace, i, &count);

		if (ptl_stream_at(trace, i)->kind != PTL_KIND_BLOB)
			continue;
		for (size_t j = 0; j < count; j++) {
			int status = 0;

			if (!(buffers[entries[j]] & PIECE_LEFT))
				status = format_relogger_copy_blobs(relogger, input, i, entries[j]);
			if (status)
				return status;
		}
	}
	return 0;
}

/* Copies a wanted piece of a buffer that also has unwanted pieces. */
int format_relogger_copy_piece(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			       const struct ptl_blob_info *blob, const struct format_blob_piece *piece)
{
	struct format_chunk chunk = {
		.type = blob->type, .blob_size = blob->size, .offset = piece->offset, .length = piece->length};
	const uint8_t *data;
	size_t size;
	int status = ptl_buffer_acquire(input->trace, piece->entry, &data, &size);

	if (status)
		return format_is_damage(status) ? 0 : status;
	memcpy(chunk.hash, blob->hash, PTL_HASH_SIZE);
	status = format_writer_chunk(relogger->writer, &chunk, data + piece->from);
	ptl_buffer_release(input->trace, piece->entry);
	return status;
}

static int copy_pieces(struct ptl_relogger *relogger, struct ptl_relogger_input *input, const uint8_t *wanted,
		       const uint8_t *buffers)
{
	const struct ptl_trace *trace = input->trace;
	int status = 0;

	for (size_t i = 0; i < ptl_blob_count(trace); i++) {
		struct format_blob_piece piece;
		uint32_t at = 0;

		while (!status && wanted[i] && format_blob_piece_of(trace, i, &at, &piece))
			if (buffers[piece.entry] & PIECE_LEFT)
				status = format_relogger_copy_piece(relogger, input, ptl_blob_at(trace, i), &piece);
	}
	return status;
}

static int pass_blobs(struct ptl_relogger *relogger, struct ptl_relogger_input *input)
{
	uint8_t *wanted = calloc(ptl_blob_count(input->trace) + 1, 1);
	uint8_t *buffers = calloc(ptl_buffer_count(input->trace) + 1, 1);
	int status = wanted && buffers ? 0 : common_fail_memory("blobs", ptl_blob_count(input->trace));

	if (!status)
		status = decide(relogger, input, wanted, buffers);
	if (!status)
		status = copy_whole_buffers(relogger, input, buffers);
	if (!status)
		status = copy_pieces(relogger, input, wanted, buffers);
	free(wanted);
	free(buffers);
	return status;
}

int format_relogger_pass_blobs(struct ptl_relogger *relogger)
{
	int status = 0;

	for (size_t i = 0; !status && i < relogger->input_count; i++)
		status = pass_blobs(relogger, relogger->inputs[i]);
	return status;
}
