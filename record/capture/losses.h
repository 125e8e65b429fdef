/* SPDX-License-Identifier: BSD-2-Clause */
/* Losses of a capture: counted by kind, and written while the trace has room. */
#ifndef RECORD_CAPTURE_LOSSES_H
#define RECORD_CAPTURE_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include <ptl/reader.h>

struct record_capture;

/* losses of one kind */
struct record_lost {
	uint64_t places; /* loss records */
	uint64_t count;  /* sum of the records' counts; 0 if unknown */
};

/* losses that are reported together at the end */
struct record_lost_more {
	uint64_t places, count, bytes;
	uint64_t first_time, last_time;
};

struct record_losses {
	uint64_t records;
	uint64_t bytes;                                 /* approximate size of the records */
	struct record_lost lost[PTL_LOSS_END + 1];      /* indexed by kind */
	struct record_lost_more more[PTL_LOSS_END + 1]; /* losses without a record so far, indexed by kind */
	bool no_room;                                   /* the missing room for schemas or symbols was reported */
	char first[256];                                /* cause of the first loss, for the summary */
	const char *hint;                               /* a source's advice against losses; NULL without advice */
};

/* Approximate size in bytes of all loss records. Further losses are summed up by kind. */
#define RECORD_LOSS_BYTES_MAX (1u << 20)

int record_capture_loss(struct record_capture *capture, const struct ptl_loss *loss);
/* Writes one loss record per kind for the losses without a record. */
int record_capture_report_more(struct record_capture *capture);
/* Reports once that the trace has no room for metadata. */
int record_capture_leave_out(struct record_capture *capture, uint32_t kind, const char *cause);

#endif
