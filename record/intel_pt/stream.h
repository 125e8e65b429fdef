/* SPDX-License-Identifier: BSD-2-Clause */
/* The packets of a CPU, or of a thread, on their way into the trace: with an index of PSBs, and with what is missing. */
#ifndef RECORD_INTEL_PT_STREAM_H
#define RECORD_INTEL_PT_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "import/psb_scan.h"
#include "import/psb_time.h"
#include "record/capture/capture.h"

struct intel_pt_stream {
	struct record_capture *capture;
	uint32_t id;
	uint32_t pid, tid; /* PTL_NO_ID: of a CPU */
	uint64_t end;      /* bytes so far, holes included */
	uint64_t time;     /* of the latest record: nothing in the bytes is later */
	struct import_psb_scan scan;
	/* The last PSB, until it is known when it was made. */
	struct {
		bool is;
		uint64_t offset;
		size_t size;
		uint8_t bytes[IMPORT_PSB_PLUS_MAX]; /* behind it */
	} psb;
	/* What is being looked at. */
	const uint8_t *piece;
	uint64_t piece_start;
	size_t piece_size;
};

/* All functions return 0 or PTL_NO_MEMORY. cpu, or pid and tid, say whose it is. */
int intel_pt_stream_open(struct intel_pt_stream *stream, struct record_capture *capture, uint32_t cpu, uint32_t pid,
			 uint32_t tid);
int intel_pt_stream_bytes(struct intel_pt_stream *stream, const void *data, size_t size);
/*
 * What follows does not go on where it ended: `bytes` are missing (0: nobody knows how many), for this cause. The stream
 * is decoded again from the next PSB on.
 */
int intel_pt_stream_interrupt(struct intel_pt_stream *stream, uint64_t bytes, const char *cause);
/* Says what was lost, though the packets go on. kind: enum ptl_loss_kind. */
int intel_pt_stream_lose(struct intel_pt_stream *stream, uint32_t kind, uint64_t count, uint64_t bytes,
			 const char *cause);
int intel_pt_stream_finish(struct intel_pt_stream *stream);

#endif
