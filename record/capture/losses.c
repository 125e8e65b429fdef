/* SPDX-License-Identifier: BSD-2-Clause */
/* Losses of a capture: counted by kind, and written while the trace has room. */
#include "record/capture/losses.h"

#include <stdio.h>
#include <string.h>

#include "record/capture/capture.h"

/* Approximate size in bytes of a loss record without its cause. */
#define LOSS_BYTES 64u

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
		capture->losses.lost[loss->kind].places++;
		capture->losses.lost[loss->kind].count += loss->count;
	}
	if (!capture->losses.records++)
		snprintf(capture->losses.first, sizeof(capture->losses.first), "%s", loss->cause ? loss->cause : "");
	if (loss->kind < PTL_LOSS_END && capture->losses.bytes + text >= RECORD_LOSS_BYTES_MAX) {
		add_more(&capture->losses.more[loss->kind], loss);
		return 0;
	}
	capture->losses.bytes += LOSS_BYTES + text;
	return record_streams_loss(capture, loss);
}

int record_capture_report_more(struct record_capture *capture)
{
	int status = 0;

	for (uint32_t kind = 0; status == 0 && kind < PTL_LOSS_END; kind++) {
		const struct record_lost_more *more = &capture->losses.more[kind];
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

/* Only an attack, or nearly an attack, fills the room. */
int record_capture_leave_out(struct record_capture *capture, uint32_t kind, const char *cause)
{
	const struct ptl_loss loss = {
		.kind = kind, .stream = PTL_NO_ID, .pid = PTL_NO_ID, .tid = PTL_NO_ID, .count = 0, .cause = cause};

	if (capture->losses.no_room)
		return 0;
	capture->losses.no_room = true;
	return record_capture_loss(capture, &loss);
}
