/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the packets of a CPU or thread into the trace, with an index of PSBs and with losses. */
#ifndef RECORD_INTEL_PT_STREAM_H
#define RECORD_INTEL_PT_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include <ptl/pt.h>

#include "import/psbs.h"
#include "record/capture/capture.h"

struct intel_pt_stream {
	struct record_capture *capture;
	uint32_t id;
	uint32_t pid, tid; /* PTL_NO_ID: stream of a CPU */
	uint64_t time;     /* time of the latest record; no packet is later */
	struct import_psbs psbs;
};

/* Functions below return 0 or PTL_NO_MEMORY. cpu, or pid and tid: owner of the packets. */
int intel_pt_stream_open(struct intel_pt_stream *stream, struct record_capture *capture, uint32_t cpu, uint32_t pid,
			 uint32_t tid);
int intel_pt_stream_bytes(struct intel_pt_stream *stream, const void *data, size_t size);
/*
 * Marks missing packets. bytes: number of missing bytes, 0 if unknown. cause: text of the loss. Decoding continues at
 * the next PSB.
 */
int intel_pt_stream_interrupt(struct intel_pt_stream *stream, uint64_t bytes, const char *cause);
/* Marks missing packets without a report of the loss. */
int intel_pt_stream_break(struct intel_pt_stream *stream, uint64_t bytes);
/* Reports a loss without a gap in the packets. kind: enum ptl_loss_kind. */
int intel_pt_stream_lose(struct intel_pt_stream *stream, uint32_t kind, uint64_t count, uint64_t bytes,
			 const char *cause);
int intel_pt_stream_finish(struct intel_pt_stream *stream);

#endif
