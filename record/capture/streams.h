/* SPDX-License-Identifier: BSD-2-Clause */
/* Streams of a capture, through all files of a series. */
#ifndef RECORD_CAPTURE_STREAMS_H
#define RECORD_CAPTURE_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/event.h>
#include <ptl/reader.h>

#include "common/bytes.h"
#include "format/event/events.h"
#include "record/capture/switches.h"
#include "record/model/model.h"

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
	uint64_t psb_time;               /* time of the last stated PSB; 0: none */
	uint32_t switches_in;            /* stream of the CPU's context switches; PTL_NO_ID without such a stream */
	struct record_switches switches; /* of streams of context switches only */
};

struct record_streams {
	struct record_stream *list;
	size_t count, capacity;
	uint32_t (*pairs)[RECORD_PARTS]; /* streams of the model's events */
	size_t pair_count, pair_capacity;
	/* number of packet streams that still write to the previous file until their next PSB */
	size_t waiting;
};

/*
 * Stream numbers stay the same in all files of a series. record_capture_thread makes the stream of a thread's PT bytes.
 */
int record_capture_stream(struct record_capture *capture, const struct ptl_stream *declared, uint32_t *stream);
int record_capture_thread(struct record_capture *capture, uint32_t pid, uint32_t tid, uint32_t *stream);
/* Makes a stream of events without a process, or writes an event to the stream. record_capture_event counts events. */
int record_capture_event_stream(struct record_capture *capture, uint32_t *stream);
int record_capture_event(struct record_capture *capture, uint32_t stream, const struct ptl_event *event);
/*
 * Checks whether the capture takes all events without a filter or a watch. Only then may record_capture_records be
 * called.
 */
bool record_capture_takes_records(const struct record_capture *capture);
/* Writes many events to a stream. */
int record_capture_records(struct record_capture *capture, uint32_t stream, const struct format_event_record *records,
			   size_t count);
/* Writes an event without counting the event. */
int record_capture_put(struct record_capture *capture, uint32_t stream, const struct ptl_event *event);
/* Writes a kernel event to the stream. */
int record_streams_event(struct record_capture *capture, uint32_t stream, const struct ptl_event *event);
/* Writes an event of the model to one of the pair's streams. */
int record_streams_model_event(struct record_capture *capture, uint32_t pair, enum record_part part,
			       const struct ptl_event *event);
/* Writes an event that packets in the previous file need to the previous file. */
int record_streams_put_before(struct record_capture *capture, uint32_t stream, const struct ptl_event *event);
/* Declares a stream in the current file. */
int record_streams_declare(struct record_capture *capture, struct record_stream *stream);
/* Writes a loss to the file that has the packets around the loss. */
int record_streams_loss(struct record_capture *capture, const struct ptl_loss *loss);
void record_streams_free(struct record_capture *capture);

#endif
