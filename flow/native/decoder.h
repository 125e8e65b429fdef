/* SPDX-License-Identifier: BSD-2-Clause */
/* The native engine's state while it walks the packets of a segment. */
#ifndef FLOW_NATIVE_DECODER_H
#define FLOW_NATIVE_DECODER_H

#include <ptl/pt.h>
#include <ptl/trace.h>

#include "flow/segment/errata.h"
#include "flow/segment/clock.h"
#include "flow/native/code.h"
#include "flow/native/output.h"

#define NATIVE_STACK FLOW_CALLS_MAX

/* Events that may wait for one FUP: a block has up to 32 items of each of a few kinds. */
#define NATIVE_PENDING_EVENTS 128

/* An event that waits for the FUP with its address: flow/native/pending_event.h. */
struct native_pending_event {
	uint64_t value;
	uint8_t kind; /* enum flow_kind */
	uint8_t type;
	uint8_t item;
};

/* What is known of where flow is while there is no region. */
enum native_place {
	NATIVE_PLACE_KNOWN,      /* there is a region, or packets are disabled */
	NATIVE_PLACE_OVERFLOWED, /* an OVF came; a FUP or TIP.PGE tells where flow goes on */
	NATIVE_PLACE_LOST,       /* a gap: any packet with an address does */
};

struct native_decoder {
	struct native_code *code;      /* known_code, or that of another decoder of the same thread */
	struct native_decoder *others; /* of the same code, in a ring that this one is in */
	struct native_code known_code;
	struct native_output out;
	struct flow_clock clock;
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
	const uint8_t *at; /* the packet being read */
	const uint8_t *end;
	const uint8_t *mode_at; /* the last MODE.Exec outside of PSB+ */
	const uint8_t *cr3_end; /* behind the last PIP, if it was for a MOV to CR3 */
	uint64_t offset;        /* in the stream, of begin */

	/* Where the flow is: at the start of region, whose code has not been given out yet. */
	struct native_region *region; /* NULL: packets are disabled, or the place is unknown */
	uint64_t last_ip;             /* of IP compression */
	uint64_t from;                /* of the pending FUP */
	uint64_t disabled_ip;         /* where packets were last disabled; 0 unknown */
	uint64_t paging;              /* of the pending PIP */
	uint64_t vmcs;                /* of the pending VMCS */
	uint64_t held_bits;           /* held_count TNT bits, the oldest highest */
	uint64_t lost_from;           /* of the last gap */
	struct ptl_pt_context context;
	uint8_t mode;      /* 64, 32, 16 */
	uint8_t next_mode; /* from the next TIP on; 0: no change */
	uint8_t place;     /* enum native_place */
	uint8_t held_count;
	uint8_t lost_cause;   /* enum flow_gap_cause of the last gap since the last PSB or OVF; NONE: there was none */
	uint8_t block_type;   /* of the BBP at hand */
	bool next_interrupts; /* with next_mode */
	bool paging_guest;
	bool paging_due;   /* a PIP waits for the TIP of its far transfer */
	bool paging_first; /* the PIP came before the VMCS */
	bool lost_within;  /* flow was lost while packets were enabled */
	bool vmcs_due;     /* a VMCS waits for the TIP of its far transfer */
	bool failed;       /* a gap to the end of the segment has been put out */
	bool no_memory;
	union {
		struct {
			bool has_from;       /* a FUP waits for its TIP or TIP.PGD */
			bool holding;        /* TNT bits wait for the TIP of a branch before them, which was deferred */
			bool events_pending; /* events wait for their FUP */
			bool none;
		};
		uint32_t busy; /* any of them: no packet is taken the fast way */
	};

	struct native_return_site *stack[NATIVE_STACK];
	unsigned stack_top;
	unsigned stack_count;
	size_t stack_runs; /* of the batch: those whose calls are on the stack */
	bool stack_return; /* the last of these ended with a return, which has not taken its address off yet */

	/* A part of a segment whose CPU remembers calls from before it, which have not been asked for: see inherit.h. */
	const struct flow_engine_input *calls_input; /* NULL: there are none */
	bool keeps_calls;                            /* the calls at its end are wanted */
	uint64_t missing;                            /* so many of them have been taken off */
	struct native_return_site restored[NATIVE_STACK];

	struct flow_errata errata;
	bool next_disabled; /* at the segment's end, as the next one says */
	bool fup_owned;     /* the next FUP is for the pending_events alone: no TIP follows it */
	bool pending_behind; /* the pending_events are of the branch that the next TIP or TIP.PGD reports, and stand behind it; */
	bool pending_placed; /* a FUP has told that it is at pending_from */
	uint64_t pending_from;
	uint8_t pending_count;
	struct native_pending_event pending_events[NATIVE_PENDING_EVENTS];
};

struct native_interleaved;

/* Code and machine outlive the decoder. PTL_NO_MEMORY. */
int native_decoder_open(struct native_decoder *decoder, struct native_source source, const struct ptl_machine *machine);
/* A decoder that shares the code of another, which outlives it; both are of one thread. PTL_NO_MEMORY. */
int native_decoder_join(struct native_decoder *decoder, struct native_decoder *other);
void native_decoder_close(struct native_decoder *decoder);

/* Forgets all ways. All decoders of the code hand over what they have collected, as that points to ways. */
void native_decoder_forget_tnt_runs(struct native_decoder *decoder);

/* All code may be another from here on; flow goes on at the same address. */
void native_decoder_forget(struct native_decoder *decoder);
/* The code is another in these spans from here on, see native_code_change; flow goes on at the same address. */
void native_decoder_change(struct native_decoder *decoder, const struct flow_code_span *changes, size_t count);

/* Decodes one segment: see flow_engine_class. */
int native_decoder_run(struct native_decoder *decoder, const struct flow_engine_input *input,
		       const struct flow_sink *sink);

/*
 * The same in parts, for segments that are counted side by side. Before a segment, while no other of the same code is
 * being decoded: forgets what takes too much memory.
 */
void native_decoder_begin(struct native_decoder *decoder, const struct flow_engine_input *input,
			  const struct flow_sink *sink);
/* Up to the segment's end; with a slot also to where native_interleaved_ready: then true. */
bool native_decoder_read(struct native_decoder *decoder, const struct native_interleaved *slot);
int native_decoder_end(struct native_decoder *decoder, const struct flow_engine_input *input);

#endif
