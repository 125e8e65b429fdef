/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes schemas, attachments and address filters of packets. A trace without further room for metadata leaves schemas
 * and attachments out; the recording goes on.
 */
#include "record/capture/capture_metadata.h"

#include <string.h>

#include "common/error.h"
#include "format/writer/pt_filter.h"
#include "format/writer/room.h"
#include "record/capture/capture.h"

/* A record is written only if this percentage of the room for metadata is free. The end of a trace needs the rest. */
#define ROOM_SCHEMAS 25
#define ROOM_ATTACHMENTS 20

static bool has_metadata_room(const struct record_capture *capture, unsigned percent)
{
	return format_writer_has_room(capture->output.writer, percent);
}

int record_capture_schema(struct record_capture *capture, const struct ptl_schema *schema)
{
	const int status = record_schemas_add(&capture->filter.schemas, schema);

	if (status < 0)
		return status;
	if (!has_metadata_room(capture, ROOM_SCHEMAS))
		return record_capture_leave_out(
			capture, PTL_LOSS_EVENTS,
			"the trace has no room for more schemas: some events are shown without names");
	return record_output_check(&capture->output, ptl_writer_schema(capture->output.writer, schema));
}

int record_capture_map(struct record_capture *capture, const struct ptl_map *map)
{
	const int status = record_schemas_add_map(&capture->filter.schemas, map);

	if (status < 0)
		return status;
	if (!has_metadata_room(capture, ROOM_SCHEMAS))
		return record_capture_leave_out(
			capture, PTL_LOSS_EVENTS,
			"the trace has no room for more schemas: some events are shown without names");
	return record_output_check(&capture->output, ptl_writer_map(capture->output.writer, map));
}

int record_capture_attachment(void *context, const struct ptl_attachment *attachment)
{
	struct record_capture *capture = context;

	if (!has_metadata_room(capture, ROOM_ATTACHMENTS))
		return record_capture_leave_out(capture, PTL_LOSS_SYMBOLS,
						"the trace has no room for more attachments");
	return record_output_check(&capture->output, ptl_writer_attachment(capture->output.writer, attachment));
}

int record_capture_pt_filters(struct record_capture *capture, const char *filters)
{
	capture->pt_filters = strdup(filters);
	if (!capture->pt_filters)
		return common_fail_memory("address filters", strlen(filters));
	return record_output_check(&capture->output, format_writer_pt_filters(capture->output.writer, filters));
}
