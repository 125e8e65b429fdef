/* SPDX-License-Identifier: BSD-2-Clause */
/* The native engine's state while it walks the packets of a segment. */
#ifndef FLOW_NATIVE_DECODER_H
#define FLOW_NATIVE_DECODER_H

#include <ptl/pt.h>
#include <ptl/trace.h>

#include "flow/native/cache/code.h"
#include "flow/native/output.h"
#include "flow/segment/clock.h"
#include "flow/segment/errata.h"

/* What is known of the place of flow where there is no region. */
enum native_place {
	NATIVE_PLACE_KNOWN,      /* there is a region, or packets are disabled */
	NATIVE_PLACE_OVERFLOWED, /* an OVF came; the address of a FUP or TIP.PGE is where flow resumes */
	NATIVE_PLACE_LOST,       /* a gap: flow resumes at the address of any packet */
};

/* The packets of the segment. */
struct native_packets {
	const uint8_t *begin;
	const uint8_t *at; /* the packet at hand */
	const uint8_t *end;
	uint64_t offset;  /* in the stream, of begin */
	uint64_t last_ip; /* of IP compression */
	struct ptl_pt_context context;
};

/*
 * Code that changes within a segment: from `until` on, by the time of the packets, `select` is called to select another
 * version, and returns the end of that one.
 */
struct native_recode {
	uint64_t (*select)(void *context, uint64_t time);
	void *context;
	uint64_t until;
	/* Of a segment in which threads take turns: the same, where flow leaves the kernel. NULL: they do not. */
	uint64_t (*enter)(void *context, uint64_t time);
	bool entered; /* flow is outside of the kernel, in the process that was selected */
};

/* MODE.Exec, PIP and VMCS that wait for the TIP of their far transfer: flow/native/mode_packet.h. */
struct native_announced {
	const uint8_t *mode_at; /* the last MODE.Exec outside of PSB+ */
	const uint8_t *cr3_end; /* behind the last PIP, if it was for a MOV to CR3 */
	uint64_t paging;        /* of the PIP */
	uint64_t vmcs;
	uint8_t mode;    /* from the next TIP on; 0: no change */
	bool interrupts; /* with mode */
	bool paging_guest;
	bool paging_due;
	bool paging_first; /* the PIP came before the VMCS */
	bool vmcs_due;
};

/* TNT bits that wait for the TIP of a branch before them, which was deferred. */
struct native_held_tnt {
	uint64_t bits; /* `count` of them, the oldest highest */
	uint8_t count;
};

#define NATIVE_STACK FLOW_CALLS_MAX

/* The calls that the CPU remembers for return compression. */
struct native_return_stack {
	struct native_return_site *sites[NATIVE_STACK]; /* in a ring */
	unsigned top;
	unsigned count;
	size_t runs;    /* of the batch: those whose calls are on the stack */
	bool returning; /* the last of these ended with a return, which has not taken its address off yet */

	/* A part of a segment whose CPU remembers calls from before it, which are not known yet: see return_stack.h. */
	const struct flow_engine_input *before; /* NULL: there are none */
	bool kept;                              /* the calls at the end of the part are wanted */
	uint64_t missing;                       /* calls from before the part that have been taken off */
	struct native_return_site restored[NATIVE_STACK];
};

/* Events that may wait for one FUP: a block has up to 32 items of each of a few kinds. */
#define NATIVE_PENDING_EVENTS 128

/* Events that wait for the FUP with their address: flow/native/pending_event.h. */
struct native_pending_event {
	uint64_t value;
	uint8_t kind; /* enum flow_kind */
	uint8_t type;
	uint8_t item;
};

struct native_pending_events {
	uint8_t count;
	uint8_t block_type; /* of the BBP at hand */
	bool fup_owned;     /* the next FUP is for these events alone: no TIP follows it */
	bool behind;        /* they are of the branch that the next TIP or TIP.PGD reports, and stand behind it */
	bool placed;        /* a FUP gave their address: */
	uint64_t from;
	struct native_pending_event events[NATIVE_PENDING_EVENTS];
};

/* Instructions that flow has passed since the last packet with a branch or an address; see native_count_to. */
struct native_since_anchor {
	const uint8_t *end; /* of the packet that they were counted for; NULL: of none */
	uint64_t instructions;
};

/* The last gap since the last PSB or OVF. */
struct native_last_gap {
	uint64_t from;
	uint8_t cause; /* enum flow_gap_cause; NONE: there was none */
	bool within;   /* flow was lost while packets were enabled */
};

struct native_decoder {
	struct native_code *code;      /* known_code, or another of the same thread */
	struct native_decoder *others; /* of the same code, in a ring that this one is in */
	struct native_code known_code;
	struct native_output out;
	struct flow_clock clock;
	struct ptl_machine machine;
	struct flow_errata errata;

	struct native_packets packets;
	struct native_recode recode;
	bool next_disabled; /* packets are disabled at the segment's end, as the next one says */

	/* Where flow is: at the start of the region, whose blocks are not in the batch yet. */
	struct native_region *region; /* NULL: packets are disabled, or the place is unknown */
	uint64_t disabled_ip;         /* where packets were last disabled; 0 unknown */
	uint8_t mode;                 /* 64, 32, 16 */
	uint8_t place;                /* enum native_place */

	/* What is not complete yet. */
	union {
		struct {
			bool has_from;       /* a FUP waits for its TIP or TIP.PGD */
			bool holding;        /* there are held TNT bits */
			bool events_pending; /* there are pending events */
			bool none;
		};
		uint32_t busy; /* any of them: the fast path takes no packet */
	};
	uint64_t from; /* of the FUP that waits */
	struct native_held_tnt held;
	struct native_announced announced;
	struct native_pending_events pending;
	struct native_since_anchor since_anchor;

	struct native_return_stack calls;
	struct native_last_gap gap;
	bool failed; /* a gap to the end of the segment is in the batch */
	bool no_memory;
};

struct native_interleaved;

/* Code and machine outlive the decoder. PTL_NO_MEMORY. */
int native_decoder_open(struct native_decoder *decoder, struct native_source source, const struct ptl_machine *machine);
/* A decoder that shares the code of another, which outlives it; both are of one thread. PTL_NO_MEMORY. */
int native_decoder_join(struct native_decoder *decoder, struct native_decoder *other);
void native_decoder_close(struct native_decoder *decoder);

/* Has all decoders of the code go over to another, which outlives them. None of them is in a segment. */
void native_decoder_use(struct native_decoder *decoder, struct native_code *code);

/* Clears the TNT cache. All decoders of the code flush their batches before, which point to its runs. */
void native_decoder_clear_tnt_cache(struct native_decoder *decoder);

/* All code may be different from here on; flow goes on at the same address. */
void native_decoder_clear(struct native_decoder *decoder);
/* The code in these spans is different from here on, see native_code_change; flow goes on at the same address. */
void native_decoder_change(struct native_decoder *decoder, const struct flow_code_span *changes, size_t count);

/* Decodes one segment: see flow_engine_class. */
int native_decoder_run(struct native_decoder *decoder, const struct flow_engine_input *input,
		       const struct flow_sink *sink);

/*
 * The same in parts, for interleaved segments. native_code_trim comes before, while no segment of the same code is
 * being decoded.
 */
void native_decoder_begin(struct native_decoder *decoder, const struct flow_engine_input *input,
			  const struct flow_sink *sink);
/*
 * Decodes to the end of the segment; with a slot at most to where native_interleaved_ready is true: then returns
 * true.
 */
bool native_decoder_read(struct native_decoder *decoder, const struct native_interleaved *slot);
int native_decoder_end(struct native_decoder *decoder, const struct flow_engine_input *input);

#endif
