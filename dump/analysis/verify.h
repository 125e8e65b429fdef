/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes with two engines and finds the first place where they differ. */
#ifndef DUMP_ANALYSIS_VERIFY_H
#define DUMP_ANALYSIS_VERIFY_H

#include "flow/view/view.h"

/* A block or an event, kept beyond the life of the flow. */
struct dump_verify_item {
	bool is_event;
	uint8_t kind;      /* of an event: enum flow_kind; of a block: enum flow_branch */
	uint8_t mode;      /* of a block */
	uint8_t flags;     /* of an event; its cause for a gap */
	uint8_t type;      /* of an event */
	uint8_t code_size; /* of a block: bytes of its last instruction */
	uint32_t instructions;
	uint64_t ip;      /* of a block; from of an event */
	uint64_t last_ip; /* of a block; to of an event */
	uint64_t value;
	uint8_t code[15]; /* of a block: its last instruction */
};

/* Items around a difference: the one at `at` is the first that is not the same. */
#define DUMP_VERIFY_BEFORE 4
#define DUMP_VERIFY_AFTER 4

struct dump_verify_side {
	struct dump_verify_item items[DUMP_VERIFY_BEFORE + DUMP_VERIFY_AFTER];
	size_t count; /* items in the array */
	size_t at;    /* index of the first that differs; count: the flow ended before it */
};

struct dump_verify {
	uint64_t segments; /* compared and found equal */
	uint64_t gaps;     /* of these: with a gap, and compared up to the first one */
	uint64_t unknown;  /* of these: with an instruction that libipt 2.0 does not know, and compared up to it */
	uint64_t pt_bytes;
	uint64_t missing_gaps;  /* of the engine that skipped less of a segment, but for overflows */
	uint64_t missing_bytes; /* that it skipped: no engine could decode them */
	uint64_t blocks;
	uint64_t instructions;
	uint64_t events;
	bool differs;
	struct flow_segment segment; /* with the first difference */
	uint64_t packets_end;        /* offset in the stream: the packets before it are the fewest that show it */
	struct dump_verify_side sides[2];
};

/*
 * Compares engines[0] with engines[1] over the options' selection (its time window selects whole segments; its
 * engine does not matter). Blocks, and events bound to an address, must be the same in the same order; events bound
 * to none, the same in an order of their own. Times are estimates and are not compared. Where flow is missing for
 * another cause than an overflow, a segment is compared up to that gap: the native engine goes on behind it in the
 * same segment, and libipt does not.
 * Stops at the first difference in order of segments, for any number of threads. PTL_NO_MEMORY, or what the
 * reader says.
 */
int dump_verify_run(struct ptl_trace *trace, const struct flow_timeline *timeline,
		    const struct flow_view_options *options, const struct flow_engine_class *const engines[2],
		    struct dump_verify *verify);

#endif
