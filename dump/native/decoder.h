/* SPDX-License-Identifier: BSD-2-Clause */
/* The native engine's state while it walks the packets of a segment. */
#ifndef PTL_DUMP_NATIVE_DECODER_H
#define PTL_DUMP_NATIVE_DECODER_H

#include <ptl/pt.h>
#include <ptl/trace.h>

#include "dump/native/clock.h"
#include "dump/native/node.h"
#include "dump/native/output.h"

#define NATIVE_STACK 64 /* return addresses that the CPU remembers: SDM, "Return Compression" */

/* What the next FUP tells the address of. */
enum native_bound {
	NATIVE_BOUND_NONE, /* an asynchronous event: TIP or TIP.PGD follows */
	NATIVE_BOUND_OVERFLOW,
	NATIVE_BOUND_TSX,
	NATIVE_BOUND_PTWRITE,
	NATIVE_BOUND_EXSTOP,
	NATIVE_BOUND_IGNORED, /* an address that flow does not need: BEP, CFE, TRIG */
};

struct native_decoder {
	struct native_code *code; /* known_code, or that of another decoder of the same thread */
	struct native_code known_code;
	struct native_output out;
	struct native_clock clock;
	struct ptl_machine machine;

	/*
	 * Code that changes while a segment is decoded: from code_until on, by the packets' own time, `recode` is
	 * asked to select another version, and says when that one ends.
	 */
	uint64_t (*recode)(void *context, uint64_t time);
	void *recode_context;
	uint64_t code_until;

	/* The segment. */
	const uint8_t *begin;
	const uint8_t *at;  /* the packet being read */
	const uint8_t *end;
	uint64_t offset;    /* in the stream, of begin */

	/* Where the flow is: at the start of node, whose code has not been given out yet. */
	struct native_node *node; /* NULL: packets are disabled, or the place is unknown */
	uint64_t last_ip;   /* of IP compression */
	uint64_t from;      /* of the pending FUP */
	uint64_t disabled_ip; /* where packets were last disabled; 0 unknown */
	uint64_t value;     /* of the pending PTWRITE or TSX */
	uint64_t paging;    /* of the pending PIP */
	struct ptl_pt_context context;
	uint8_t mode;       /* 64, 32, 16 */
	uint8_t next_mode;  /* from the next TIP on; 0: no change */
	uint8_t bound;      /* enum native_bound */
	bool has_from;      /* a FUP waits for its TIP or TIP.PGD */
	bool paging_due;    /* a PIP waits for the TIP of its far transfer */
	bool overflowed;    /* OVF came, and the place where flow goes on is not known yet */
	bool failed;        /* a gap to the end of the segment has been put out */
	bool no_memory;

	struct native_site *stack[NATIVE_STACK];
	unsigned stack_top;
	unsigned stack_count;
	size_t stack_runs; /* of the batch: those whose calls are on the stack */
};

/* Code and machine outlive the decoder. PTL_NO_MEMORY. */
int native_decoder_open(struct native_decoder *decoder, struct native_source source,
			const struct ptl_machine *machine);
/* A decoder that shares the code of another, which outlives it; both are of one thread. PTL_NO_MEMORY. */
int native_decoder_join(struct native_decoder *decoder, const struct native_decoder *other);
void native_decoder_close(struct native_decoder *decoder);

/* All code may be another from here on; flow goes on at the same address. */
void native_decoder_forget(struct native_decoder *decoder);

/* Decodes one segment: see ptl_engine_class. */
int native_decoder_run(struct native_decoder *decoder, const struct ptl_engine_input *input,
		       const struct ptl_flow_sink *sink);

#endif
