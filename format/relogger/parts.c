/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parts of one recording: finds which inputs are parts, and what of the recording the output contains
 * (docs/relogging.md). joined.c handles streams that parts share.
 */
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "common/error.h"
#include "format/reader/parts.h"
#include "format/relogger/relogger_internal.h"
#include "common/vector.h"

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
	if (!may_join(source->kind) || !format_is_named(input->identity))
		return;
	stream->origin = (struct format_origin){.known = true, .stream = source->id};
	memcpy(stream->origin.file, input->identity, sizeof(input->identity));
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

static int add_part(struct ptl_relogger_input *input, const struct ptl_loss *loss, const struct ptl_record *record)
{
	struct format_part *part;

	if (!common_vector_room(&input->parts, input->part_count, sizeof(*input->parts)))
		return common_fail_memory("parts", input->part_count * sizeof(*input->parts));
	part = &input->parts[input->part_count++];
	*part = (struct format_part){
		.first = shifted(loss->kept_first, input->time_shift),
		.last = shifted(loss->kept_last, input->time_shift),
		.known = shifted(loss->known, input->time_shift),
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

/* Finds the parts in an input. A trace that names no recording is a recording itself. */
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
	return !status && !input->part_count ? add_whole(input, input->identity) : status;
}

static void find_extent(struct ptl_relogger_input *input)
{
	const struct ptl_trace *trace = input->trace;

	input->first_event = UINT64_MAX;
	for (size_t i = 0; i < ptl_stream_count(trace); i++) {
		const struct ptl_stream *stream = ptl_stream_at(trace, i);

		if (stream->kind == PTL_KIND_PT || stream->kind == PTL_KIND_TRUTH)
			input->bytes += stream->bytes;
		if (stream->kind != PTL_KIND_EVENTS || !stream->buffers)
			continue;
		if (stream->first_time + (uint64_t)input->time_shift < input->first_event)
			input->first_event = stream->first_time + (uint64_t)input->time_shift;
		if (stream->last_time + (uint64_t)input->time_shift > input->last_event)
			input->last_event = stream->last_time + (uint64_t)input->time_shift;
	}
}

void format_relogger_find_identity(struct ptl_relogger_input *input)
{
	struct ptl_guid guid;
	int64_t wall_time;

	ptl_trace_id(input->trace, &guid, &wall_time);
	if (!input->has_identity)
		memcpy(input->identity, guid.bytes, sizeof(input->identity));
}

static int inspect_input(struct ptl_relogger_input *input)
{
	input->streams = calloc(ptl_stream_count(input->trace) + 1, sizeof(*input->streams));
	if (!input->streams)
		return common_fail_memory("streams", ptl_stream_count(input->trace) * sizeof(*input->streams));
	format_relogger_find_identity(input);
	find_extent(input);
	find_origins(input);
	return format_relogger_find_own_parts(input);
}

/* --- redundant rundown ---------------------------------------------------------------------------------- */

static bool is_same_recording(const struct format_part *a, const struct format_part *b)
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

	if (!is_same_recording(part, other))
		return;
	part->start_again |= reaches_start &&
			     (other->known < part->known || (other->known == part->known && comes_before));
	part->end_again |= reaches_end && (other->last > part->last || (other->last == part->last && comes_before));
}

static void find_rundown(struct ptl_relogger_input *input)
{
	const struct ptl_relogger *relogger = input->relogger;

	for (size_t i = 0; i < input->part_count; i++)
		for (size_t j = 0; j < relogger->input_count; j++)
			for (size_t k = 0; j != input->number && k < relogger->inputs[j]->part_count; k++)
				compare_parts(&input->parts[i], &relogger->inputs[j]->parts[k], j < input->number);
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

/* --- recording of the output ---------------------------------------------------------------------------- */

int ptl_relogger_change(struct ptl_relogger *relogger, const void *data, size_t size)
{
	XXH128_canonical_t hash;

	if (relogger->state != FORMAT_RELOGGER_NEW)
		return common_fail(PTL_MISUSE, "the relogger has begun to process");
	relogger->has_change = true;
	memset(relogger->change, 0, sizeof(relogger->change));
	if (!size)
		return 0;
	XXH128_canonicalFromHash(&hash, XXH3_128bits(data, size));
	memcpy(relogger->change, hash.digest, sizeof(relogger->change));
	return 0;
}

/* Whether callbacks may have changed events without ptl_relogger_change; then the output belongs to no recording. */
static bool is_unknown_change(const struct ptl_relogger *relogger)
{
	for (size_t i = 0; !relogger->has_change && i < relogger->stage_count; i++)
		if (relogger->stages[i]->callbacks.event)
			return true;
	return false;
}

static void change_name(const struct ptl_relogger *relogger, uint8_t name[16])
{
	XXH128_canonical_t hash;
	uint8_t both[32];

	if (is_unknown_change(relogger)) {
		memset(name, 0, 16);
		return;
	}
	if (!format_is_named(relogger->change))
		return;
	memcpy(both, name, 16);
	memcpy(both + 16, relogger->change, 16);
	XXH128_canonicalFromHash(&hash, XXH3_128bits(both, sizeof(both)));
	memcpy(name, hash.digest, 16);
}

struct parts {
	struct format_part *all;
	size_t count;
};

/* Reduces a part's dropped events and bytes by those that other inputs of the recording add. */
static void count_left(const struct ptl_relogger *relogger, struct format_part *part, size_t owner)
{
	uint64_t events = 0, bytes = 0;

	for (size_t i = 0; i < relogger->input_count; i++) {
		const struct ptl_relogger_input *input = relogger->inputs[i];

		for (size_t j = 0; i != owner && j < input->part_count; j++)
			if (is_same_recording(&input->parts[j], part)) {
				events += input->events - input->shared_events;
				bytes += input->bytes - input->shared_bytes;
				break;
			}
	}
	/* Events and bytes shared with other inputs are counted only once. */
	events -= events < relogger->inputs[owner]->shared_events ? events : relogger->inputs[owner]->shared_events;
	bytes -= bytes < relogger->inputs[owner]->shared_bytes ? bytes : relogger->inputs[owner]->shared_bytes;
	part->events -= part->events < events ? part->events : events;
	part->bytes -= part->bytes < bytes ? part->bytes : bytes;
}

static int compare_part(const void *left, const void *right)
{
	const struct format_part *a = left, *b = right;
	const int order = memcmp(a->recording, b->recording, sizeof(a->recording));

	if (order)
		return order;
	return a->first < b->first ? -1 : a->first > b->first;
}

static bool touch(const struct format_part *a, const struct format_part *b)
{
	return is_same_recording(a, b) && (a->last == UINT64_MAX || b->first <= a->last + 1);
}

/* Unites parts that touch. */
static void unite(struct parts *parts)
{
	size_t count = 0;

	if (parts->count)
		qsort(parts->all, parts->count, sizeof(*parts->all), compare_part);
	for (size_t i = 0; i < parts->count; i++) {
		struct format_part *last = count ? &parts->all[count - 1] : NULL;
		const struct format_part *part = &parts->all[i];

		if (!last || !touch(last, part)) {
			parts->all[count++] = *part;
			continue;
		}
		last->last = part->last > last->last ? part->last : last->last;
		last->known = part->known < last->known ? part->known : last->known;
		last->events = part->events < last->events ? part->events : last->events;
		last->bytes = part->bytes < last->bytes ? part->bytes : last->bytes;
		last->record = NULL;
	}
	parts->count = count;
}

static void narrow(struct format_part *part, const struct ptl_cut *cut)
{
	part->first = cut->first > part->first ? cut->first : part->first;
	part->last = cut->last < part->last ? cut->last : part->last;
	part->known = cut->known > part->known ? cut->known : part->known;
	part->record = NULL;
}

/* Writes that the output contains the whole recording, regardless of the window. */
static int write_whole(struct ptl_relogger *relogger, const uint8_t name[16])
{
	struct ptl_bytes body = {0};
	int status;

	if (!format_is_named(name))
		return 0;
	format_recording_encode(name, &body);
	status = body.failed ? common_fail_memory("a recording", 0)
			     : ptl_writer_record(relogger->writer, FORMAT_RECORD_RECORDING, body.data, body.size);
	common_bytes_free(&body);
	return status;
}

static int write_part(struct ptl_relogger *relogger, const struct format_part *part)
{
	struct ptl_loss loss = {
		.kind = PTL_LOSS_CUT,
		.stream = PTL_NO_ID,
		.pid = PTL_NO_ID,
		.tid = PTL_NO_ID,
		.count = part->events,
		.bytes = part->bytes,
		.cause = "cut on purpose by ptl-relog",
		.kept_first = part->first,
		.kept_last = part->last,
		.known = part->known,
	};

	memcpy(loss.recording, part->recording, sizeof(loss.recording));
	if (format_is_named(loss.recording))
		change_name(relogger, loss.recording);
	return part->events || part->bytes ? ptl_writer_loss(relogger->writer, &loss)
					   : write_whole(relogger, loss.recording);
}

/* Passes a part of one input, unchanged if nothing has changed. */
static int pass_same(struct ptl_relogger *relogger, struct ptl_relogger_input *input, const struct format_part *part)
{
	const bool same = !format_is_named(relogger->change) && !is_unknown_change(relogger);

	return part->record && same ? format_relogger_pass_loss(relogger, input, part->record)
				    : write_part(relogger, part);
}

static int collect_parts(struct ptl_relogger *relogger, struct parts *parts)
{
	size_t count = 0;

	for (size_t i = 0; i < relogger->input_count; i++)
		count += relogger->inputs[i]->part_count;
	parts->all = malloc((count + 1) * sizeof(*parts->all));
	if (!parts->all)
		return common_fail_memory("parts", count * sizeof(*parts->all));
	for (size_t i = 0; i < relogger->input_count; i++)
		for (size_t j = 0; j < relogger->inputs[i]->part_count; j++) {
			struct format_part *part = &parts->all[parts->count++];

			*part = relogger->inputs[i]->parts[j];
			if (relogger->dedup.any)
				count_left(relogger, part, i);
		}
	return 0;
}

int format_relogger_pass_parts(struct ptl_relogger *relogger)
{
	struct parts parts = {NULL};
	int status = 0;

	if (!relogger->has_cut && !relogger->dedup.any) {
		for (size_t i = 0; !status && i < relogger->input_count; i++)
			for (size_t j = 0; !status && j < relogger->inputs[i]->part_count; j++)
				status = pass_same(relogger, relogger->inputs[i], &relogger->inputs[i]->parts[j]);
		return status;
	}
	status = collect_parts(relogger, &parts);
	if (!status)
		unite(&parts);
	for (size_t i = 0; relogger->has_cut && i < parts.count; i++)
		narrow(&parts.all[i], &relogger->cut);
	if (relogger->has_cut && parts.count) {
		parts.all[0].events += relogger->cut.events;
		parts.all[0].bytes += relogger->cut.bytes;
	}
	if (!status && relogger->has_cut && !parts.count)
		status = write_part(relogger, &(struct format_part){.last = UINT64_MAX,
								    .events = relogger->cut.events,
								    .bytes = relogger->cut.bytes});
	for (size_t i = 0; !status && i < parts.count; i++)
		if (!i || parts.all[i].first <= parts.all[i].last)
			status = write_part(relogger, &parts.all[i]);
	free(parts.all);
	return status;
}

void format_relogger_parts_free(struct ptl_relogger_input *input)
{
	format_relogger_live_free(input);
	free(input->streams);
	free(input->parts);
}
