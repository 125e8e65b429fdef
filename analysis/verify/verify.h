/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes a trace with two engines and finds their first difference. */
#ifndef ANALYSIS_VERIFY_VERIFY_H
#define ANALYSIS_VERIFY_VERIFY_H

#include "flow/view/view.h"

/* A copied block or event, which outlives the flow. */
struct analysis_verify_item {
	bool is_event;
	uint8_t kind;      /* of an event: enum flow_kind; of a block: enum flow_branch */
	uint8_t mode;      /* of a block */
	uint8_t flags;     /* of an event; of a gap: its cause */
	uint8_t type;      /* of an event */
	uint8_t code_size; /* of a block: bytes of its last instruction */
	uint32_t instructions;
	uint64_t ip;      /* ip of a block; `from` of an event */
	uint64_t last_ip; /* last ip of a block; an event's `to` */
	uint64_t value;
	uint8_t code[15]; /* of a block: bytes of its last instruction */
};

/* Counts of items shown before and after the first difference. */
#define ANALYSIS_VERIFY_BEFORE 4
#define ANALYSIS_VERIFY_AFTER 4

struct analysis_verify_side {
	struct analysis_verify_item items[ANALYSIS_VERIFY_BEFORE + ANALYSIS_VERIFY_AFTER];
	size_t count; /* items in the array */
	size_t at;    /* index of the first different item; count: this engine's flow ended first */
};

struct analysis_verify {
	uint64_t segments; /* segments compared without a difference */
	uint64_t gaps;     /* equal segments with a gap; these are compared up to the first gap */
	/*
	 * equal segments with an instruction that libipt 2.0 does not know; these are compared up to this instruction
	 */
	uint64_t unknown;
	uint64_t pt_bytes;
	/* gaps except overflows, counted for the engine that skipped fewer bytes of the segment */
	uint64_t missing_gaps;
	uint64_t missing_bytes; /* skipped bytes at these gaps, which no engine could decode */
	uint64_t blocks;
	uint64_t instructions;
	uint64_t events;
	bool differs;
	struct flow_segment segment; /* the segment of the first difference */
	/* offset in the stream: end of the smallest part of the segment that shows the difference */
	uint64_t packets_end;
	struct analysis_verify_side sides[2];
};

/*
 * Compares engines[0] with engines[1] over the selected segments. options->engine is ignored; the time window selects
 * whole segments.
 * Blocks and events bound to an address must be equal and in the same order. Unbound events must be equal and in the
 * same order among each other. Times are estimates and are not compared. A segment is compared up to its first gap that
 * is no overflow: the native engine continues in the same segment after the gap, libipt does not.
 * Stops at the first difference in the order of segments, for any number of threads. Returns 0, PTL_NO_MEMORY, or an
 * error of the reader.
 */
int analysis_verify_run(struct ptl_trace *trace, const struct flow_timeline *timeline,
			const struct flow_view_options *options, const struct flow_engine_class *const engines[2],
			struct analysis_verify *verify);

#endif
