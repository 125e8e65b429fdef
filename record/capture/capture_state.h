/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the capture share. */
#ifndef RECORD_CAPTURE_CAPTURE_STATE_H
#define RECORD_CAPTURE_CAPTURE_STATE_H

#include <ptl/reader.h>

#include "common/bytes.h"
#include "record/capture/capture.h"

#define RECORD_SWITCHES_MAX 1024u
#define RECORD_SWITCH_PAYLOAD_MAX 64u

/* A context switch. They may be known before packets of their time are, and then are in both files. */
struct record_switch {
	struct ptl_event event;
	uint8_t payload[RECORD_SWITCH_PAYLOAD_MAX];
	bool waits; /* to go to the file before, if packets of its time do */
};

/*
 * A stream as sources know it, through all files of a series. Its number is its index in the list; its packets begin in the file
 * at hand at a PSB, and go to the file before until there is one.
 */
struct record_stream {
	struct ptl_stream declared; /* its id is that of the file at hand; PTL_NO_ID: nothing of it is there yet */
	uint32_t before;            /* its id in the file before; PTL_NO_ID: it was not there */
	/* Of packets: */
	uint64_t taken;       /* bytes and holes so far */
	uint64_t base;        /* of them, where the part in the file at hand begins */
	uint64_t base_before; /* the same of the file before */
	bool waits;           /* for a PSB, with which the file at hand begins */
	bool skips;           /* the same, but the file before is closed */
	bool repeats;         /* the PSB at base is in the file before, too */
	bool unstated;        /* it is not stated yet, so that the index of the file before is not complete */
	uint64_t base_time;   /* of that PSB */
	bool ended;
	struct ptl_bytes held; /* while it waits: the last bytes, which may be the beginning of a PSB */
	uint64_t skipped;      /* bytes */
	struct ptl_psb *psbs;  /* that were stated while nothing of it is in the file at hand */
	size_t psb_count, psb_capacity;
	uint64_t last_time;
	uint32_t switches_in; /* stream of the context switches of the CPU; PTL_NO_ID: none */
	/* Of these: */
	struct record_switch *switches; /* the last ones, RECORD_SWITCHES_MAX; NULL: none so far */
	size_t switch_first, switch_count;
};

/* ---- streams.c ------------------------------------------------------------------------------- */

void record_streams_free(struct record_capture *capture);
/*
 * The next file is open, and the one before is capture->before: its streams of events are declared there, in order, and those of
 * packets wait for a PSB.
 */
int record_streams_go_on(struct record_capture *capture);
/* Writes the last context switches of each CPU again, into the file at hand. */
int record_streams_write_switches(struct record_capture *capture);
/* The file before is about to be closed: what still waits does not go there any more. last: nor anywhere else. */
int record_streams_leave_before(struct record_capture *capture, bool last);
/* Writes it to the file that has what it is about. */
int record_streams_loss(struct record_capture *capture, const struct ptl_loss *loss);
/* An event of the kernel's classes, into this stream. */
int record_streams_event(struct record_capture *capture, uint32_t stream, const struct ptl_event *event);

/* ---- rotation.c ------------------------------------------------------------------------------ */

/* Begins the next file, or ends the recording, if it is time. */
int record_rotation_step(struct record_capture *capture, uint64_t now);
/* Code that an event refers to is put into the file at hand, where the file before has it. */
int record_rotation_code(struct record_capture *capture, const struct ptl_event *event);
/* Waits until the file before the file before is complete. */
void record_rotation_await(struct record_capture *capture);
/* The recording ends: there is no next file, and those before are complete. */
int record_rotation_finish(struct record_capture *capture, uint64_t now);
void record_rotation_free(struct record_capture *capture);

/* ---- capture.c ------------------------------------------------------------------------------- */

/* As ptl_writer_provenance; on any thread. */
int record_capture_write_provenance(const struct record_capture *capture, struct ptl_writer *writer);

#endif
