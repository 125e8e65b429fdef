/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of the capture. */
#ifndef RECORD_CAPTURE_CAPTURE_STATE_H
#define RECORD_CAPTURE_CAPTURE_STATE_H

#include <ptl/reader.h>

#include "common/bytes.h"
#include "record/capture/capture.h"

/*
 * A record is written only if this percentage of the room for metadata is free. The last percentages belong to the
 * records at the end of a trace.
 */
#define RECORD_ROOM_STREAMS 50
#define RECORD_ROOM_SCHEMAS 25
#define RECORD_ROOM_ATTACHMENTS 20
/* Approximate size in bytes of all loss records. Further losses are summed up by kind. */
#define RECORD_LOSS_BYTES_MAX (1u << 20)
#define RECORD_SWITCHES_MAX 1024u
#define RECORD_SWITCH_PAYLOAD_MAX 64u

/* A context switch. A switch may arrive before the packets of its time; such a switch goes to both files. */
struct record_switch {
	struct ptl_event event;
	uint8_t payload[RECORD_SWITCH_PAYLOAD_MAX];
	bool waits; /* still goes to the previous file if packets of its time do */
};

/*
 * A stream as sources see it, through all files of a series. The stream's number is its index in the list. Packets go
 * to the previous file until a PSB; the PSB begins the stream's part in the current file.
 */
struct record_stream {
	struct ptl_stream declared; /* declared.id: id in the current file; PTL_NO_ID before the first data there */
	uint32_t before;            /* id in the previous file; PTL_NO_ID if absent there */
	/* Of packet streams only: */
	uint64_t taken;       /* bytes, including holes, received so far */
	uint64_t base;        /* value of `taken` at which the part in the current file begins */
	uint64_t base_before; /* value of `taken` at which the part in the previous file begins */
	bool waits;           /* waits for a PSB to begin the current file with */
	bool skips;           /* waits for a PSB, but the previous file is closed */
	bool repeats;         /* the PSB at `base` is also in the previous file */
	/* the source has not stated the PSB at `base`; the index of the previous file is incomplete */
	bool unstated;
	uint64_t base_time; /* time of the PSB at `base` */
	bool ended;
	struct ptl_bytes held; /* while waiting: tail of the packets so far, possibly the beginning of a PSB */
	uint64_t skipped;      /* bytes skipped */
	struct ptl_psb *psbs;  /* stated PSBs while the current file has no data of the stream */
	size_t psb_count, psb_capacity;
	uint64_t last_time;
	uint32_t switches_in; /* stream of the CPU's context switches; PTL_NO_ID without such a stream */
	/* Of streams of context switches only: */
	struct record_switch *switches; /* ring of the last RECORD_SWITCHES_MAX switches; NULL before the first */
	size_t switch_first, switch_count;
};

/* ---- streams.c ------------------------------------------------------------------------------- */

void record_streams_free(struct record_capture *capture);
/*
 * Continues all streams in a new file; the previous file is capture->before. Declares streams of events in the same
 * order. Streams of packets wait for a PSB.
 */
int record_streams_go_on(struct record_capture *capture);
/* Repeats the last context switches of each CPU in the current file. */
int record_streams_write_switches(struct record_capture *capture);
/*
 * Ends writing to the previous file, before the file is closed. Waiting streams skip further packets. last: no later
 * file takes the packets either.
 */
int record_streams_leave_before(struct record_capture *capture, bool last);
/* Writes a loss to the file that has the packets around the loss. */
int record_streams_loss(struct record_capture *capture, const struct ptl_loss *loss);
/* Writes a kernel event to the stream. */
int record_streams_event(struct record_capture *capture, uint32_t stream, const struct ptl_event *event);

/* ---- rotation.c ------------------------------------------------------------------------------ */

/* Starts the next file, or ends the recording, if due. */
int record_rotation_step(struct record_capture *capture, uint64_t now);
/* Copies code that the event refers to from the previous file into the current file. */
int record_rotation_code(struct record_capture *capture, const struct ptl_event *event);
/* Waits until the file in background completion is complete. */
void record_rotation_await(struct record_capture *capture);
/* Completes all previous files at the end of the recording. */
int record_rotation_finish(struct record_capture *capture, uint64_t now);
void record_rotation_free(struct record_capture *capture);

/* ---- capture.c ------------------------------------------------------------------------------- */

/* As ptl_writer_provenance. May run on any thread. */
int record_capture_write_provenance(const struct record_capture *capture, struct ptl_writer *writer);
/* ---- capture_metadata.c ---------------------------------------------------------------------- */

/* Writes one loss record per kind for the losses without a record. */
int record_capture_report_more(struct record_capture *capture);
/* Writes an attachment. context: the capture. The type is that of struct elf_image_sink. */
int record_capture_attachment(void *context, const struct ptl_attachment *attachment);

/* ---- capture.c, capture_close.c -------------------------------------------------------------- */

/* Frees everything but the output. */
void record_capture_free_parts(struct record_capture *capture);
/* Starts merging the files in memory into one file. As record_capture_keep, without the flush. */
int record_capture_begin_to_keep(struct record_capture *capture);

#endif
