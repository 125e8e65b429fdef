/* SPDX-License-Identifier: BSD-2-Clause */
/* Notes of a source about a process, written to the trace as events of the provider PTL-Record. */
#ifndef RECORD_CAPTURE_NOTES_H
#define RECORD_CAPTURE_NOTES_H

#include "record/capture/capture.h"

struct record_note {
	uint64_t time; /* of the trace's clock */
	uint32_t pid, tid;
	bool warning;
	const char *text;
};

/* Writes the note as an event. Fails with PTL_NO_MEMORY. */
int record_note(struct record_capture *capture, const struct record_note *note);

#endif
