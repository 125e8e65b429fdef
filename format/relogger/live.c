/* SPDX-License-Identifier: BSD-2-Clause */
/* Relogs a trace that is being written: passes the new data, repeatedly, until the trace is over. */
#include "format/relogger/live.h"

#include <stdlib.h>

#include "common/error.h"
#include "format/container/layout.h"
#include "format/container/side.h"
#include "format/reader/live.h"
#include "format/relogger/ahead.h"
#include "format/relogger/blobs.h"
#include "format/relogger/control.h"
#include "format/relogger/copy.h"
#include "format/relogger/events.h"
#include "format/relogger/input.h"
#include "format/relogger/records.h"
#include "format/relogger/relogger_internal.h"
#include "format/relogger/stages.h"
#include "format/relogger/window.h"
#include "format/writer/copy.h"

#define PAUSE ((uint64_t)25 * 1000000) /* ns between two checks for new data */

static bool is_bytes(uint32_t kind)
{
	return kind != PTL_KIND_METADATA && kind != PTL_KIND_EVENTS && kind != PTL_KIND_BLOB && kind != PTL_KIND_INDEX;
}

/* ---- streams --------------------------------------------------------------------------------------------------------- */

static int plan_stream(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream)
{
	struct ptl_stream_plan plan;
	int status;

	if (!is_bytes(ptl_stream_at(input->trace, stream)->kind))
		return 0;
	status = format_stages_stream(relogger, input, stream, &plan);
	if (!status && plan.ranges && !plan.drop)
		status = common_fail(PTL_UNSUPPORTED, "parts of a stream that is being written cannot be chosen");
	input->streams[stream].dropped = plan.drop;
	input->streams[stream].decided = plan.drop;
	return status;
}

static int begin_stream(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream)
{
	int status;

	input->streams[stream] = (struct format_relogger_stream){.source = ptl_stream_at(input->trace, stream)->id};
	format_relogger_find_origin(input, stream);
	status = format_relogger_number_stream(relogger, input, stream);
	return status ? status : plan_stream(relogger, input, stream);
}

/* Adds new streams. The trace sorts its streams by id, so new streams may lie between known streams. */
static int take_streams(struct ptl_relogger *relogger, struct ptl_relogger_input *input)
{
	const size_t count = ptl_stream_count(input->trace), before = input->live->stream_count;
	struct format_relogger_stream *old = input->streams;
	size_t next = 0;
	int status = 0;

	if (count == before)
		return 0;
	input->streams = calloc(count, sizeof(*input->streams));
	if (!input->streams) {
		input->streams = old;
		return common_fail_memory("streams", count * sizeof(*input->streams));
	}
	input->live->stream_count = count;
	for (size_t i = 0; !status && i < count; i++) {
		if (next == before || old[next].source != ptl_stream_at(input->trace, i)->id) {
			status = begin_stream(relogger, input, i);
			continue;
		}
		input->streams[i] = old[next++];
		input->streams[i].number = i;
	}
	free(old);
	return status;
}

/* Passes the record of a stream. */
static int tell_stream(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
		       const struct ptl_record *record)
{
	struct format_relogger_stream *target = &input->streams[stream];
	int status;

	if (target->dropped || (input->live->telling && target->decided))
		return 0;
	format_relogger_take_origin(input, record);
	target->declared = record;
	status = format_relogger_declare_stream(relogger, input, stream);
	target->declared = NULL; /* addresses of records are not stable, as the array grows */
	target->decided = true;
	return status;
}

static int take_record(struct ptl_relogger *relogger, struct ptl_relogger_input *input, const struct ptl_record *record)
{
	size_t stream;

	if (record->type != FORMAT_RECORD_STREAM)
		return format_relogger_pass_record(relogger, input, record);
	stream = format_relogger_stream_of(input, record);
	return stream < ptl_stream_count(input->trace) ? tell_stream(relogger, input, stream, record) : 0;
}

/* Declares streams that have data but no stream record. */
static int tell_streams(struct ptl_relogger *relogger, struct ptl_relogger_input *input)
{
	int status = 0;

	for (size_t i = 0; !status && i < input->live->stream_count; i++) {
		const struct ptl_stream *source = ptl_stream_at(input->trace, i);

		if (input->streams[i].decided || !source->buffers ||
		    !(is_bytes(source->kind) || source->kind == PTL_KIND_EVENTS))
			continue;
		status = format_relogger_declare_stream(relogger, input, i);
		input->streams[i].decided = true;
	}
	return status;
}

/* Asks the stages again about dropped streams. A stream wanted now is still complete. */
static int ask_again(struct ptl_relogger *relogger, struct ptl_relogger_input *input)
{
	struct format_live *live = input->live;
	bool wanted = false;
	int status = 0;

	for (size_t i = 0; !status && live->ask_again && i < live->stream_count; i++) {
		if (!input->streams[i].dropped)
			continue;
		status = plan_stream(relogger, input, i);
		wanted |= !input->streams[i].dropped;
	}
	live->ask_again = false;
	live->telling = true;
	for (size_t i = 0; !status && wanted && i < live->records; i++)
		if (ptl_record_at(input->trace, i)->type == FORMAT_RECORD_STREAM)
			status = take_record(relogger, input, ptl_record_at(input->trace, i));
	live->telling = false;
	return status;
}

/* ---- records --------------------------------------------------------------------------------------------------------- */

/* Whether the record waits for the end, because a stage that looks ahead decides about it with full knowledge. */
static bool waits(const struct format_live *live, const struct ptl_record *record)
{
	return live->ahead && (record->type == FORMAT_RECORD_LOSS || record->type == FORMAT_RECORD_ATTACHMENT);
}

static int take_records(struct ptl_relogger *relogger, struct ptl_relogger_input *input)
{
	struct format_live *live = input->live;
	int status = 0;

	while (!status && live->records < ptl_record_count(input->trace)) {
		const struct ptl_record *record = ptl_record_at(input->trace, live->records++);

		if (!waits(live, record))
			status = take_record(relogger, input, record);
	}
	return status;
}

static int take_waiting_records(struct ptl_relogger *relogger, struct ptl_relogger_input *input)
{
	int status = 0;

	for (size_t i = 0; !status && i < input->live->records; i++)
		if (waits(input->live, ptl_record_at(input->trace, i)))
			status = take_record(relogger, input, ptl_record_at(input->trace, i));
	return status;
}

/* ---- blobs ----------------------------------------------------------------------------------------------------------- */

/* Finds new blobs that the output already has, because a callback added them. */
static int look_at_blobs(struct ptl_relogger *relogger, struct ptl_relogger_input *input)
{
	struct format_live *live = input->live;
	int status = 0;

	for (; !status && live->blobs < ptl_blob_count(input->trace); live->blobs++) {
		if (!format_writer_has_blob(relogger->writer, ptl_blob_at(input->trace, live->blobs)->hash))
			continue;
		status = common_hash_map_put(&live->foreign, live->blobs, 1);
		relogger->counts.blobs_shared++;
	}
	return status;
}

/* Reads the chunks of a buffer of blobs from the file. */
static int read_chunks(const struct ptl_relogger_input *input, size_t entry, struct format_side *side)
{
	const struct format_entry *found = format_trace_entry(input->trace, entry);
	const struct ptl_buffer *buffer = &found->buffer;
	uint8_t *data = malloc(found->side_size + (size_t)1);
	int status = data ? format_trace_read(input->trace, data, found->side_size,
					      buffer->offset + FORMAT_BUFFER_HEADER_SIZE)
			  : common_fail_memory("a side area", found->side_size);

	if (!status)
		status = format_side_decode(data, found->side_size, PTL_KIND_BLOB, buffer->position, buffer->first_time,
					    buffer->raw_size, false, 0, side);
	free(data);
	return status;
}

/* Returns the number of the chunk's blob; PTL_NO_ID if unknown. */
static uint32_t blob_of(const struct ptl_relogger_input *input, const struct format_chunk *chunk)
{
	const uint32_t number = ptl_blob_number(input->trace, chunk->hash);
	const struct ptl_blob_info *blob = number == PTL_NO_ID ? NULL : ptl_blob_at(input->trace, number);

	return blob && blob->type == chunk->type && blob->size == chunk->blob_size ? number : PTL_NO_ID;
}

static bool is_foreign(const struct ptl_relogger_input *input, const struct format_chunk *chunk)
{
	return common_hash_map_get(&input->live->foreign, blob_of(input, chunk)) != NULL;
}

static int copy_own_chunks(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t entry,
			   const struct format_side *side)
{
	uint64_t from = 0;
	int status = 0;

	for (size_t i = 0; !status && i < side->chunk_count; i++) {
		const struct format_chunk *chunk = &side->chunks[i];
		const struct format_blob_piece piece = {(uint32_t)entry, (uint32_t)from, chunk->offset, chunk->length};
		const uint32_t blob = blob_of(input, chunk);

		if (blob != PTL_NO_ID && !is_foreign(input, chunk))
			status = format_relogger_copy_piece(relogger, input, ptl_blob_at(input->trace, blob), &piece);
		from += chunk->length;
	}
	return status;
}

/* Copies a buffer of blobs. A buffer without blobs that the output already has is copied unchanged. */
static int copy_blobs(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream, size_t entry)
{
	struct format_side side = {0};
	bool foreign = false;
	int status = input->live->foreign.used ? read_chunks(input, entry, &side) : 0;

	if (status && !format_is_damage(status))
		return status;
	for (size_t i = 0; !foreign && i < side.chunk_count; i++)
		foreign = is_foreign(input, &side.chunks[i]);
	status = foreign ? copy_own_chunks(relogger, input, entry, &side)
			 : format_relogger_copy_blobs(relogger, input, stream, entry);
	format_side_free(&side);
	return status;
}

/* ---- buffers --------------------------------------------------------------------------------------------------------- */

static int copy_buffer(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream, size_t entry)
{
	if (ptl_buffer_at(input->trace, entry)->stream.kind != PTL_KIND_BLOB)
		return format_relogger_copy_buffer(relogger, input, stream, entry, NULL);
	return copy_blobs(relogger, input, stream, entry);
}

/* Copies the buffers of a stream up to the time `until`. */
static int copy_stream(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t i, uint64_t until)
{
	struct format_relogger_stream *stream = &input->streams[i];
	size_t count;
	const uint32_t *entries = format_stream_buffers(input->trace, i, &count);
	int status = 0;

	for (; !status && stream->copied < count; stream->copied++) {
		if (ptl_buffer_at(input->trace, entries[stream->copied])->last_time > until)
			break;
		status = copy_buffer(relogger, input, i, entries[stream->copied]);
	}
	return status;
}

/*
 * Copies new buffers. Events seen by callbacks are delayed; bytes are delayed equally, so that a reader of the growing
 * output does not see bytes ahead of their events.
 */
static int copy_streams(struct ptl_relogger *relogger, struct ptl_relogger_input *input, bool events, uint64_t until)
{
	int status = input->live->copies_blobs ? look_at_blobs(relogger, input) : 0;

	for (size_t i = 0; !status && i < input->live->stream_count; i++) {
		const uint32_t kind = ptl_stream_at(input->trace, i)->kind;

		if (input->streams[i].dropped)
			continue;
		if (is_bytes(kind) || (kind == PTL_KIND_EVENTS && events) ||
		    (kind == PTL_KIND_BLOB && input->live->copies_blobs))
			status = copy_stream(relogger, input, i, until);
	}
	return status;
}

/* ---- looking ahead --------------------------------------------------------------------------------------------------- */

bool format_relogger_is_live(const struct ptl_relogger *relogger)
{
	return relogger->input_count && relogger->inputs[0]->live;
}

static int see(void *context, const struct format_merge_place *place, const struct ptl_event *event)
{
	const struct format_live *live = context;

	(void)place;
	return live->see(live->see_context, event);
}

int format_relogger_look_ahead(struct ptl_relogger *relogger,
			       int (*event)(void *context, const struct ptl_event *event), void *context)
{
	struct ptl_relogger_input *input = relogger->inputs[0];

	if (input->live->ahead)
		return common_fail(PTL_MISUSE, "two stages cannot look ahead");
	input->live->merged = (struct format_merge_input){.trace = input->trace};
	input->live->see = event;
	input->live->see_context = context;
	format_realtime_delay(input->trace, FORMAT_AHEAD);
	return format_merge_new(&input->live->merged, NULL, see, input->live, &input->live->ahead);
}

void format_relogger_ask_again(struct ptl_relogger *relogger)
{
	relogger->inputs[0]->live->ask_again = true;
}

/* ---- the run --------------------------------------------------------------------------------------------------------- */

/* Passes the data that has arrived. */
static int pass_some(struct ptl_relogger *relogger, struct ptl_relogger_input *input, struct format_merge *merge)
{
	const uint64_t until = merge ? ptl_realtime_horizon(input->trace) : UINT64_MAX;
	int status = input->live->ahead ? format_merge_run(input->live->ahead, format_realtime_ahead(input->trace)) : 0;

	if (!status)
		status = take_streams(relogger, input);
	if (!status)
		status = ask_again(relogger, input);
	if (!status)
		status = take_records(relogger, input);
	if (!status)
		status = tell_streams(relogger, input);
	if (!status)
		status = copy_streams(relogger, input, !merge, until);
	if (!status && merge)
		status = format_merge_run(merge, until);
	relogger->current.stream = NULL;
	relogger->current.input = NULL;
	if (!status)
		status = format_window_flush(relogger, until);
	return status ? status : ptl_writer_poll(relogger->writer);
}

static int wait_for_more(const struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			 struct format_merge *merge)
{
	struct ptl_trace *trace = input->trace;
	bool more = true;
	int status;

	if (atomic_load_explicit(&relogger->control.stopped, memory_order_relaxed))
		status = format_realtime_end(trace);
	else
		status = ptl_realtime_wait(trace, PAUSE, &more);
	if (!status && more && input->live->ahead)
		status = format_merge_resume(input->live->ahead);
	return !status && more && merge ? format_merge_resume(merge) : status;
}

static int pass_until_over(struct ptl_relogger *relogger, struct ptl_relogger_input *input, struct format_merge *merge)
{
	for (;;) {
		const bool over = ptl_realtime_over(input->trace);
		int status = pass_some(relogger, input, merge);

		if (!status)
			status = format_relogger_check(relogger);
		if (!status && !over)
			status = wait_for_more(relogger, input, merge);
		if (status || over)
			return status;
	}
}

int format_relogger_pass_live(struct ptl_relogger *relogger)
{
	struct ptl_relogger_input *input = relogger->inputs[0];
	const struct format_merge_input merged = {.trace = input->trace};
	struct format_merge *merge = NULL;
	int status = 0;

	input->live->copies_blobs = !format_stages_take_blobs(relogger);
	format_relogger_find_identity(input);
	status = take_streams(relogger, input);
	if (!status && format_stages_take_events(relogger))
		status = format_merge_new(&merged, NULL, format_relogger_take_event, relogger, &merge);
	if (!status)
		status = pass_until_over(relogger, input, merge);
	if (!status)
		status = take_waiting_records(relogger, input);
	format_merge_free(merge);
	if (!status)
		status = format_relogger_find_own_parts(input);
	return status ? common_fail_in(status, "%s", input->name) : 0;
}
