/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes notes of a source as events of the recorder's provider PTL-Record. */
#include "record/capture/notes.h"

#include <string.h>

#include "common/text/guid.h"

#define PROVIDER "PTL-Record"
#define NOTE_ID 1

static const struct ptl_field note_fields[] = {{.name = "Text", .type = PTL_TYPE_UTF8}};

static int begin_notes(struct record_capture *capture, const struct ptl_guid *guid)
{
	const struct ptl_schema schema = {
		.provider = *guid,
		.id = NOTE_ID,
		.provider_name = PROVIDER,
		.event_name = "Note",
		.task_name = "",
		.opcode_name = "",
		.message = "{0}",
		.fields = note_fields,
		.field_count = 1,
		.level = PTL_LEVEL_WARNING,
	};
	int status = record_capture_event_stream(capture, &capture->note_stream);

	capture->has_notes = true;
	return status < 0 ? status : record_capture_schema(capture, &schema);
}

int record_note(struct record_capture *capture, const struct record_note *note)
{
	struct ptl_event event = {
		.descriptor = {.id = NOTE_ID, .level = note->warning ? PTL_LEVEL_WARNING : PTL_LEVEL_INFORMATIONAL},
		.time = note->time,
		.cpu = PTL_NO_CPU,
		.pid = note->pid,
		.tid = note->tid,
		.payload = (const uint8_t *)note->text,
		.payload_size = (uint32_t)strlen(note->text) + 1,
	};
	int status = ptl_guid_from_name(PROVIDER, &event.descriptor.provider);

	if (status == 0 && !capture->has_notes)
		status = begin_notes(capture, &event.descriptor.provider);
	return status < 0 ? status : record_capture_put(capture, capture->note_stream, &event);
}
