/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parts of one recording: finds which inputs are parts, and which rundown is redundant (docs/relogging.md). joined.c
 * finds streams that parts share.
 */
#include "format/relogger/part.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"
#include "format/reader/parts.h"
#include "format/relogger/input.h"
#include "format/relogger/joined.h"
#include "format/relogger/relogger_internal.h"

/* --- parts in an input --------------------------------------------------------------------------------- */

static bool may_join(uint32_t kind)
{
	return kind == PTL_KIND_PT || kind == PTL_KIND_TRUTH || kind == PTL_KIND_EVENTS;
}

void format_relogger_find_origin(struct ptl_relogger_input *input, size_t i)
{
	struct format_relogger_stream *stream = &input->streams[i];
	const struct ptl_stream *source = ptl_stream_at(input->trace, i);

	stream->input = input;
	stream->number = i;
	if (!may_join(source->kind) || !format_is_named(input->parts.identity))
		return;
	stream->origin = (struct format_origin){.known = true, .stream = source->id};
	memcpy(stream->origin.file, input->parts.identity, sizeof(input->parts.identity));
}

void format_relogger_take_origin(struct ptl_relogger_input *input, const struct ptl_record *record)
{
	const struct common_cursor body = common_cursor(record->data, record->size);
	struct format_origin origin;
	struct ptl_stream named;
	size_t number;

	if (record->type != FORMAT_RECORD_STREAM || format_stream_decode(body, &named) ||
	    format_origin_decode(body, &origin) || !origin.known)
		return;
	number = format_stream_number(input->trace, named.id);
	if (number < ptl_stream_count(input->trace) && input->streams[number].origin.known)
		input->streams[number].origin = origin;
}

static void find_origins(struct ptl_relogger_input *input)
{
	for (size_t i = 0; i < ptl_stream_count(input->trace); i++)
		format_relogger_find_origin(input, i);
	for (size_t i = 0; i < ptl_record_count(input->trace); i++)
		format_relogger_take_origin(input, ptl_record_at(input->trace, i));
}

static uint64_t shifted(uint64_t time, int64_t shift)
{
	return !time || time == UINT64_MAX ? time : time + (uint64_t)shift;
}

/* Adds a part with times of the input. */
static int add_part(struct ptl_relogger_input *input, const struct ptl_loss *loss, const struct ptl_record *record)
{
	struct format_part *part;

	if (!common_vector_room(&input->parts.all, input->parts.count, sizeof(*input->parts.all)))
		return common_fail_memory("parts", input->parts.count * sizeof(*input->parts.all));
	part = &input->parts.all[input->parts.count++];
	*part = (struct format_part){
		.first = loss->kept_first,
		.last = loss->kept_last,
		.known = loss->known,
		.events = loss->count,
		.bytes = loss->bytes,
		.record = record,
	};
	memcpy(part->recording, loss->recording, sizeof(part->recording));
	return 0;
}

/* Adds a part that is the whole recording. */
static int add_whole(struct ptl_relogger_input *input, const uint8_t name[16])
{
	struct ptl_loss whole = {.kept_last = UINT64_MAX};

	memcpy(whole.recording, name, sizeof(whole.recording));
	return format_is_named(name) ? add_part(input, &whole, NULL) : 0;
}

static int add_recording(struct ptl_relogger_input *input, const struct ptl_record *record)
{
	uint8_t name[16];
	const int status = format_recording_decode(common_cursor(record->data, record->size), name);

	return status ? 0 : add_whole(input, name);
}

static int add_cut(struct ptl_relogger_input *input, const struct ptl_record *record)
{
	struct ptl_loss *loss;
	int status = format_loss_decode(common_cursor(record->data, record->size), &loss);

	if (status)
		return status == PTL_NO_MEMORY ? status : 0;
	if (loss->kind == PTL_LOSS_CUT && format_is_named(loss->recording))
		status = add_part(input, loss, record);
	format_loss_free(loss);
	return status;
}

/* A trace that names no recording is a recording itself. */
int format_relogger_find_own_parts(struct ptl_relogger_input *input)
{
	int status = 0;

	for (size_t i = 0; !status && i < ptl_record_count(input->trace); i++) {
		const struct ptl_record *record = ptl_record_at(input->trace, i);

		if (record->type == FORMAT_RECORD_LOSS)
			status = add_cut(input, record);
		else if (record->type == FORMAT_RECORD_RECORDING)
			status = add_recording(input, record);
	}
	return !status && !input->parts.count ? add_whole(input, input->parts.identity) : status;
}

static void find_extent(struct ptl_relogger_input *input)
{
	const struct ptl_trace *trace = input->trace;

	input->extent.first_event = UINT64_MAX;
	for (size_t i = 0; i < ptl_stream_count(trace); i++) {
		const struct ptl_stream *stream = ptl_stream_at(trace, i);

		if (stream->kind == PTL_KIND_PT || stream->kind == PTL_KIND_TRUTH)
			input->extent.bytes += stream->bytes;
		if (stream->kind != PTL_KIND_EVENTS || !stream->buffers)
			continue;
		if (stream->first_time + (uint64_t)input->clock.shift < input->extent.first_event)
			input->extent.first_event = stream->first_time + (uint64_t)input->clock.shift;
		if (stream->last_time + (uint64_t)input->clock.shift > input->extent.last_event)
			input->extent.last_event = stream->last_time + (uint64_t)input->clock.shift;
	}
}

void format_relogger_find_identity(struct ptl_relogger_input *input)
{
	struct ptl_guid guid;
	int64_t wall_time;

	ptl_trace_id(input->trace, &guid, &wall_time);
	if (!input->parts.has_identity)
		memcpy(input->parts.identity, guid.bytes, sizeof(input->parts.identity));
}

static int inspect_input(struct ptl_relogger_input *input)
{
	input->streams = calloc(ptl_stream_count(input->trace) + 1, sizeof(*input->streams));
	if (!input->streams)
		return common_fail_memory("streams", ptl_stream_count(input->trace) * sizeof(*input->streams));
	find_extent(input);
	find_origins(input);
	for (size_t i = 0; i < input->parts.count; i++) {
		struct format_part *part = &input->parts.all[i];

		part->first = shifted(part->first, input->clock.shift);
		part->last = shifted(part->last, input->clock.shift);
		part->known = shifted(part->known, input->clock.shift);
	}
	return 0;
}

static bool has_recording(const struct format_parts *parts, const struct format_part *part)
{
	for (size_t i = 0; i < parts->count; i++)
		if (format_part_is_same_recording(&parts->all[i], part))
			return true;
	return false;
}

static bool has_recordings(const struct format_parts *parts, const struct format_parts *others)
{
	for (size_t i = 0; i < others->count; i++)
		if (!has_recording(parts, &others->all[i]))
			return false;
	return true;
}

bool format_parts_are_same_recordings(const struct format_parts *a, const struct format_parts *b)
{
	return a->count && b->count && has_recordings(a, b) && has_recordings(b, a);
}

/* --- redundant rundown ---------------------------------------------------------------------------------- */

bool format_part_is_same_recording(const struct format_part *a, const struct format_part *b)
{
	return memcmp(a->recording, b->recording, sizeof(a->recording)) == 0;
}

/*
 * Finds whether another part covers the start or the end of this part. If two parts start or end at the same time, the
 * rundown of the first input stays.
 */
static void compare_parts(struct format_part *part, const struct format_part *other, bool comes_before)
{
	const bool reaches_start = part->known && other->last >= part->known - 1;
	const bool reaches_end = part->last != UINT64_MAX && other->known <= part->last + 1;

	if (!format_part_is_same_recording(part, other))
		return;
	part->start_again |= reaches_start &&
			     (other->known < part->known || (other->known == part->known && comes_before));
	part->end_again |= reaches_end && (other->last > part->last || (other->last == part->last && comes_before));
}

static void find_rundown(struct ptl_relogger_input *input)
{
	const struct ptl_relogger *relogger = input->relogger;

	for (size_t i = 0; i < input->parts.count; i++)
		for (size_t j = 0; j < relogger->input_count; j++)
			for (size_t k = 0; j != input->number && k < relogger->inputs[j]->parts.count; k++)
				compare_parts(&input->parts.all[i], &relogger->inputs[j]->parts.all[k],
					      j < input->number);
}

int format_relogger_find_parts(struct ptl_relogger *relogger)
{
	int status = 0;

	for (size_t i = 0; !status && i < relogger->input_count; i++)
		status = inspect_input(relogger->inputs[i]);
	if (!status && relogger->input_count > 1)
		status = format_relogger_join_streams(relogger);
	for (size_t i = 0; !status && relogger->dedup.any && i < relogger->input_count; i++)
		find_rundown(relogger->inputs[i]);
	return status;
}
