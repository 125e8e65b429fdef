/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies buffers unchanged, or parts of them; and streams. */
#include "format/relogger/copy.h"

#include "common/partition.h"
#include "format/reader/parts.h"
#include "format/relogger/control.h"
#include "format/relogger/input.h"
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
		.time_shift = input->clock.shift,
		.position_cut = input->streams[stream].cut,
		.recompress = relogger->output.recompress,
		.own_psbs = own_psbs && source->kind == PTL_KIND_PT,
		.look = look,
		.look_context = input,
	};
	int status;

	if (change.own_psbs)
		change.psbs = find_psbs(input->trace, stream, buffer->position, buffer->position + buffer->raw_size,
					&change.psb_count);
	status = format_writer_copy_changed(relogger->writer, input->trace, entry, &change);
	if (relogger->output.recompress)
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
					psbs[i].time ? psbs[i].time + (uint64_t)input->clock.shift : 0);
	return status;
}

/* Copies the bytes [first, end) of the stream, which lie in this buffer. */
static int copy_part(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream, size_t entry,
		     uint64_t first, uint64_t end)
{
	const struct ptl_buffer *buffer = ptl_buffer_at(input->trace, entry);
	const struct format_relogger_stream *target = &input->streams[stream];
	const uint64_t time = buffer->first_time ? buffer->first_time + (uint64_t)input->clock.shift : 0;
	const uint64_t last = buffer->last_time ? buffer->last_time + (uint64_t)input->clock.shift : 0;
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
	const uint64_t time = buffer->first_time ? buffer->first_time + (uint64_t)input->clock.shift : 0;
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

int format_relogger_copy_blobs(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
			       size_t entry)
{
	const int status = copy_whole(relogger, input, stream, entry, false, NULL);

	return status && !format_is_damage(status) ? status : format_relogger_check(relogger);
}
