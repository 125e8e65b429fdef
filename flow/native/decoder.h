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

/* Knowledge about the place of flow without a region. */
enum native_place {
	NATIVE_PLACE_KNOWN,      /* the place is the region, or packets are disabled */
	NATIVE_PLACE_OVERFLOWED, /* after an OVF: flow resumes at the address of a FUP or TIP.PGE */
	NATIVE_PLACE_LOST,       /* after a gap: flow resumes at the address of any packet */
};

/* The packets of the segment. */
struct native_packets {
	const uint8_t *begin;
	const uint8_t *at; /* the current packet */
	const uint8_t *end;
	uint64_t offset;  /* stream offset of `begin` */
	uint64_t last_ip; /* last IP, for IP compression */
	struct ptl_pt_context context;
};

/*
 * Code that changes within a segment. When a packet's time reaches `until`, `select` selects another version of the
 * code, and returns the end of that version.
 */
struct native_recode {
	uint64_t (*select)(void *context, uint64_t time);
	void *context;
	uint64_t until;
	/* As select, called when flow leaves the kernel in a segment with turns. NULL: no turns. */
	uint64_t (*enter)(void *context, uint64_t time);
	bool entered; /* flow is outside of the kernel, in the selected process */
};

/* MODE.Exec, PIP and VMCS packets that wait for the TIP of their far transfer: flow/native/mode_packet.h. */
struct native_announced {
	const uint8_t *mode_at; /* last MODE.Exec outside of PSB+ */
	const uint8_t *cr3_end; /* end of the last PIP, if the PIP belongs to a MOV to CR3 */
	uint64_t paging;        /* value of the PIP */
	uint64_t vmcs;
	uint8_t mode;    /* mode from the next TIP on; 0: no change */
	bool interrupts; /* interrupt flag, announced together with mode */
	bool paging_guest;
	bool paging_due;
	bool paging_first; /* the PIP came before the VMCS packet */
	bool vmcs_due;
};

/* Operation of guests (VMX non-root), as PIP packets tell: flow/native/guest.h. */
struct native_guest {
	const struct flow_engine_input *input; /* NULL: all packets belong to the process */
	uint64_t vmcs;                         /* base address of the VMCS; 0 unknown */
	bool within;                           /* the packets belong to a guest without code */
	bool asked;                            /* `apart` is known: the segment has packets of guests */
	bool apart;                            /* the guests of the segment have no code: FLOW_GUEST_APART */
	bool shared;                           /* the guests have the process's code: FLOW_GUEST_SHARED */
	bool own_tsc;                          /* TSC packets are of a guest: their times are not the host's */
	bool reported;                         /* a gap reports the guest's current packets */
};

/* TNT bits that wait for the deferred TIP of an earlier branch. */
struct native_held_tnt {
	uint64_t bits; /* `count` bits; the oldest bit is the highest */
	uint8_t count;
};

#define NATIVE_STACK FLOW_CALLS_MAX

/* The calls that the CPU remembers for return compression. */
struct native_return_stack {
	struct native_return_site *sites[NATIVE_STACK]; /* call sites, as a ring */
	unsigned top;
	unsigned count;
	size_t runs;    /* number of runs of the batch whose calls are on the stack */
	bool returning; /* the last counted run ended with a return whose address is still on the stack */

	/* For a part of a segment: remembered calls from before the part, not known yet: see return_stack.h. */
	const struct flow_engine_input *before; /* NULL: no older calls */
	bool kept;                              /* the calls at the end of the part are wanted */
	/* number of calls from before the part that returns have already popped */
	uint64_t missing;
	struct native_return_site restored[NATIVE_STACK];
	struct native_return_site unshared[NATIVE_STACK]; /* own sites in place of shared sites: shared.h */
};

/* Maximum number of events that wait for a FUP: a block has up to 32 items of each of a few kinds. */
#define NATIVE_PENDING_EVENTS 128

/* An event that waits for the FUP with its address: flow/native/pending_event.h. */
struct native_pending_event {
	uint64_t value;
	uint8_t kind; /* enum flow_kind */
	uint8_t type;
	uint8_t item;
};

struct native_pending_events {
	uint8_t count;
	uint8_t block_type; /* block type of the current BBP */
	bool fup_owned;     /* the next FUP belongs to these events alone: no TIP follows */
	/* the events belong to the branch that the next TIP or TIP.PGD reports, and stand behind that branch */
	bool behind;
	bool placed; /* a FUP gave the address `from` */
	uint64_t from;
	struct native_pending_event events[NATIVE_PENDING_EVENTS];
};

/* Instructions passed since the last packet with a branch or an address: see native_count_to. */
struct native_since_anchor {
	const uint8_t *end; /* end of the packet of the count; NULL: no count */
	uint64_t instructions;
};

/* The latest gap after the last PSB or OVF. */
struct native_last_gap {
	uint64_t from;
	uint8_t cause; /* enum flow_gap_cause; FLOW_GAP_NONE: no gap */
	bool within;   /* flow was lost while packets were enabled */
};

struct native_decoder {
	struct native_code *code;      /* known_code, or another code of the same thread */
	struct native_decoder *others; /* decoders with the same code, in a ring with this decoder */
	struct native_code known_code;
	struct native_output out;
	struct flow_clock clock;
	struct ptl_machine machine;
	struct flow_errata errata;

	struct native_packets packets;
	struct native_recode recode;
	bool next_disabled; /* packets are disabled at the segment's end, according to the next segment */

	/* The place of flow: the beginning of the region. The region's blocks are not in the batch yet. */
	struct native_region *region; /* NULL: packets are disabled, or the place is unknown */
	uint64_t disabled_ip;         /* address at which packets were last disabled; 0 unknown */
	uint8_t mode;                 /* mode of execution: 64, 32 or 16 */
	uint8_t place;                /* enum native_place */

	/* State that is not complete yet. */
	union {
		struct {
			bool has_from;       /* a FUP waits for its TIP or TIP.PGD */
			bool holding;        /* held TNT bits exist */
			bool events_pending; /* pending events exist */
			bool none;
		};
		uint32_t busy; /* non-zero if any flag is set: then the fast path decodes no packet */
	};
	uint64_t from; /* address of the waiting FUP */
	struct native_held_tnt held;
	struct native_announced announced;
	struct native_guest guest;
	struct native_pending_events pending;
	struct native_since_anchor since_anchor;

	struct native_return_stack calls;
	struct native_last_gap gap;
	bool failed; /* the batch has a gap to the end of the segment */
	bool no_memory;
};

struct native_interleaved;

/* Opens a decoder. source and machine must outlive the decoder. Returns PTL_NO_MEMORY. */
int native_decoder_open(struct native_decoder *decoder, struct native_source source, const struct ptl_machine *machine);
/*
 * Opens a decoder that shares the code of another decoder in the same thread. The other decoder must outlive this
 * decoder. Returns PTL_NO_MEMORY.
 */
int native_decoder_join(struct native_decoder *decoder, struct native_decoder *other);
void native_decoder_close(struct native_decoder *decoder);

/*
 * Moves all decoders with the same code to another code, which must outlive the decoders. No decoder may be in a
 * segment.
 */
void native_decoder_use(struct native_decoder *decoder, struct native_code *code);

/* Clears all code, which may differ from here on. Flow continues at the same address. */
void native_decoder_clear(struct native_decoder *decoder);
/* Invalidates the code in these spans: see native_code_change. Flow continues at the same address. */
void native_decoder_change(struct native_decoder *decoder, const struct flow_code_span *changes, size_t count);

/* As native_decoder_use within a segment, for a decoder that shares no code. Flow continues at the same address. */
void native_decoder_switch(struct native_decoder *decoder, struct native_code *code);

/* Decodes one segment: see flow_engine_class. */
int native_decoder_run(struct native_decoder *decoder, const struct flow_engine_input *input,
		       const struct flow_sink *sink);

/*
 * Decode a segment in parts, for interleaved segments. The caller first calls native_code_trim, while no segment with
 * the same code is being decoded.
 */
void native_decoder_begin(struct native_decoder *decoder, const struct flow_engine_input *input,
			  const struct flow_sink *sink);
/* Decodes to the end of the segment. With a slot, stops when native_interleaved_ready is true, and returns true. */
bool native_decoder_read(struct native_decoder *decoder, const struct native_interleaved *slot);
int native_decoder_end(struct native_decoder *decoder, const struct flow_engine_input *input);
/*
 * For a segment that is still arriving. native_decoder_read_whole decodes the whole packets before `end`, and hands over
 * their flow; a packet that `end` cuts off stays. Packets that look ahead stay, too, if fewer than `ahead` bytes are
 * there. native_decoder_move tells where the bytes of the segment are now, and how many bytes have arrived.
 */
void native_decoder_read_whole(struct native_decoder *decoder, const uint8_t *end, size_t ahead);
void native_decoder_move(struct native_decoder *decoder, const uint8_t *bytes, size_t size);

/* Decodes the packet at data, within the segment. */
static inline int native_read(const struct native_decoder *decoder, const uint8_t *data, struct ptl_pt_context *context,
			      struct ptl_pt_packet *packet)
{
	return flow_errata_read(&decoder->errata, data, (size_t)(decoder->packets.end - data), context, packet);
}

#endif
