/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes records of metadata: schemas, attachments, losses. A trace without further room for metadata leaves records
 * out; the recording goes on.
 */
#include <stdio.h>
#include <string.h>

#include "format/writer/room.h"
#include "record/capture/capture_state.h"

/* Approximate size in bytes of a loss record without its cause. */
#define LOSS_BYTES 64u

/* ---- losses ---------------------------------------------------------------------------------- */

static void add_more(struct record_lost_more *more, const struct ptl_loss *loss)
{
	if (!more->places++ || loss->first_time < more->first_time)
		more->first_time = loss->first_time;
	if (loss->last_time > more->last_time)
		more->last_time = loss->last_time;
	more->count += loss->count;
	more->bytes += loss->bytes;
}

int record_capture_loss(struct record_capture *capture, const struct ptl_loss *loss)
{
	const size_t text = loss->cause ? strlen(loss->cause) : 0;

	if (loss->kind <= PTL_LOSS_END) {
		capture->lost[loss->kind].places++;
		capture->lost[loss->kind].count += loss->count;
	}
	if (!capture->loss_records++)
		snprintf(capture->first_loss, sizeof(capture->first_loss), "%s", loss->cause ? loss->cause : "");
	if (loss->kind < PTL_LOSS_END && capture->loss_bytes + text >= RECORD_LOSS_BYTES_MAX) {
		add_more(&capture->more[loss->kind], loss);
		return 0;
	}
	capture->loss_bytes += LOSS_BYTES + text;
	return record_streams_loss(capture, loss);
}

int record_capture_report_more(struct record_capture *capture)
{
	int status = 0;

	for (uint32_t kind = 0; status == 0 && kind < PTL_LOSS_END; kind++) {
		const struct record_lost_more *more = &capture->more[kind];
		char cause[128];
		const struct ptl_loss loss = {
			.kind = kind,
			.stream = PTL_NO_ID,
			.pid = PTL_NO_ID,
			.tid = PTL_NO_ID,
			.count = more->count,
			.bytes = more->bytes,
			.first_time = more->first_time,
			.last_time = more->last_time,
			.cause = cause,
		};

		snprintf(cause, sizeof(cause), "losses in %llu more places, for whose records the trace has no room",
			 (unsigned long long)more->places);
		if (more->places)
			status = record_streams_loss(capture, &loss);
	}
	return status;
}

/* ---- descriptions of events and code --------------------------------------------------------- */

/* Reports the missing room only once: only an attack, or nearly an attack, fills the room. */
static int leave_out(struct record_capture *capture, uint32_t kind, const char *cause)
{
	const struct ptl_loss loss = {
		.kind = kind, .stream = PTL_NO_ID, .pid = PTL_NO_ID, .tid = PTL_NO_ID, .count = 0, .cause = cause};

	if (capture->no_room)
		return 0;
	capture->no_room = true;
	return record_capture_loss(capture, &loss);
}

static bool has_metadata_room(const struct record_capture *capture, unsigned percent)
{
	return format_writer_has_room(capture->output.writer, percent);
}

int record_capture_schema(struct record_capture *capture, const struct ptl_schema *schema)
{
	const int status = record_schemas_add(&capture->schemas, schema);

	if (status < 0)
		return status;
	if (!has_metadata_room(capture, RECORD_ROOM_SCHEMAS))
		return leave_out(capture, PTL_LOSS_EVENTS,
				 "the trace has no room for more schemas: some events are shown without names");
	return record_output_check(&capture->output, ptl_writer_schema(capture->output.writer, schema));
}

int record_capture_map(struct record_capture *capture, const struct ptl_map *map)
{
	const int status = record_schemas_add_map(&capture->schemas, map);

	if (status < 0)
		return status;
	if (!has_metadata_room(capture, RECORD_ROOM_SCHEMAS))
		return leave_out(capture, PTL_LOSS_EVENTS,
				 "the trace has no room for more schemas: some events are shown without names");
	return record_output_check(&capture->output, ptl_writer_map(capture->output.writer, map));
}

int record_capture_attachment(void *context, const struct ptl_attachment *attachment)
{
	struct record_capture *capture = context;

	if (!has_metadata_room(capture, RECORD_ROOM_ATTACHMENTS))
		return leave_out(capture, PTL_LOSS_SYMBOLS, "the trace has no room for more attachments");
	return record_output_check(&capture->output, ptl_writer_attachment(capture->output.writer, attachment));
}
