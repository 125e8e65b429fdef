/* SPDX-License-Identifier: BSD-2-Clause */
/* What the two libipt engines share: everything but which of its decoders walks. */
#ifndef FLOW_LIBIPT_ENGINE_H
#define FLOW_LIBIPT_ENGINE_H

#include <intel-pt.h>

#include "common/hash_map.h"
#include "flow/code/filter.h"
#include "flow/segment/errata.h"
#include "flow/engine/builder.h"
#include "flow/segment/clock.h"

struct libipt_engine;

/* One of libipt's decoders, behind the calls that both have. */
struct libipt_decoder {
	void (*configure)(struct pt_config *config); /* may be NULL */
	void *(*alloc)(const struct pt_config *config);
	void (*free)(void *decoder);
	int (*sync)(void *decoder, uint64_t offset);
	int (*set_image)(void *decoder, struct pt_image *image);
	int (*event)(void *decoder, struct pt_event *event);
	int (*time)(void *decoder, uint64_t *tsc);
	int (*offset)(void *decoder, uint64_t *offset);
	/*
	 * One step ahead: what was executed goes to libipt_run. Returns libipt's status (a negative
	 * pt_error_code is not yet a failure of ours); *address is where the walk stands, for
	 * messages. A negative ptl_status goes into *failure.
	 */
	int (*step)(struct libipt_engine *engine, uint64_t *address, int *failure);
};

/* code_time.c: how far the packets have been read for the time of the code. */
struct libipt_code_time {
	struct flow_clock clock;
	size_t offset; /* of the packet that the clock has not seen */
	struct ptl_pt_context context;
	/* Of the packets before it, less what libipt has reported; libipt may have reported more: */
	int bits;      /* of TNT packets, against branches */
	int events;    /* TIP.PGE, TIP.PGD, and TIP behind a FUP, against their events */
	bool returned; /* the last run of instructions did: that was a bit, or the next TIP */
	bool has_fup;  /* whose TIP follows */
	bool owns_fup; /* a packet of another kind, whose FUP follows */
};

struct libipt_engine {
	const struct libipt_decoder *class;
	void *decoder;
	struct flow_code *code;
	const struct ptl_machine *machine;
	struct flow_errata errata; /* of the machine */
	const struct flow_engine_input *input;
	const struct flow_sink *sink;

	/*
	 * Of a part of a CPU's segment: the number of the part at which the walk is. It may be one before it: nobody sees that
	 * one's flow.
	 */
	size_t part;
	bool part_enabled; /* packets were, in this part */
	uint8_t *replayed; /* the segment, made decodable from a part on */
	size_t replayed_capacity;
	size_t enables; /* offset behind the TIP.PGE of the last FLOW_ENABLED; libipt 2.1 and later */
	struct ptl_pt_context enables_context;

	struct libipt_code_time code_time;

	/* The decoder's buffer. A segment lies at its end: one decoder serves all segments. */
	uint8_t *buffer;
	size_t capacity;
	size_t start;    /* of the segment in the buffer */
	size_t inserted; /* bytes of a MODE.Exec that was put behind its PSB */
	size_t given;    /* bytes of the segment that libipt has; behind them, no packet says anything of flow */
	size_t whole;    /* bytes of the segment in whole packets */
	bool has_next;   /* the next segment says how this one ends */
	bool enabled;    /* packets are, as far as the walk has come */
	bool overflowed; /* it ends with an overflow after which no packet says where flow is */
	bool closed;     /* a synthetic FUP and TIP.PGD end it */
	bool reached;    /* and the walk has come to them */
	bool torn;       /* its last FUP has no TIP, and another segment follows */

	/* Code. */
	struct flow_version version;
	uint32_t process;           /* whose */
	bool leaves_kernel;         /* the flow may go on outside of it */
	struct format_piece piece;  /* of version: what the callback read from last */
	const uint8_t *piece_bytes; /* of its whole blob; NULL: nothing was read yet */
	flow_root files;            /* root of the pieces that are in image */
	bool has_image;
	struct pt_image *image;
	struct pt_image_section_cache *sections;
	struct common_byte_map section_ids;
	bool filtered; /* there are address filters: */
	struct flow_filter_range filters[FLOW_FILTER_RANGES];
	unsigned filter_count;
	bool filters_changed; /* since the decoder was made */

	/* Whether the walk goes round without end. */
	uint64_t steps;      /* since a packet was needed, or an event came */
	uint64_t remembered; /* where one of these steps began */
	bool endless;
	bool stepped; /* the last step gave instructions */

	/* newer.c */
	enum pt_exec_mode mode; /* of the last event of the mode */
	bool mode_told;         /* the last event was one */

	struct flow_builder builder;
};

int libipt_open(const struct libipt_decoder *class, struct flow_code *code, const struct ptl_machine *machine,
		struct flow_engine **engine);
int libipt_decode(struct flow_engine *engine, const struct flow_engine_input *input, const struct flow_sink *sink);
void libipt_close(struct flow_engine *engine);

/* A run of instructions, from step. Returns as flow_builder_run does. */
int libipt_run(struct libipt_engine *engine, uint64_t ip, uint64_t last_ip, uint32_t count, enum pt_exec_mode mode,
	       bool speculative);

/* code.c. Makes the decoder see the code of the segment's process at this time. */
int libipt_code_open(struct libipt_engine *engine);
void libipt_code_close(struct libipt_engine *engine);
int libipt_code_select(struct libipt_engine *engine, uint64_t time);

/* code_time.c. The time that code is taken as of, while libipt is at this offset of the segment. */
uint64_t libipt_code_time(struct libipt_engine *engine, uint64_t offset);
void libipt_code_time_start(struct libipt_engine *engine);
/* A run of instructions ended in this branch (enum flow_branch); an event of this kind (enum flow_kind) was reported. */
void libipt_code_time_branch(struct libipt_engine *engine, uint8_t branch);
void libipt_code_time_event(struct libipt_engine *engine, uint8_t kind);

/*
 * part.c. Decodes input->segment, a part that does not begin at the PSB, behind parts before it, so that
 * libipt knows their calls.
 */
int libipt_decode_part(struct libipt_engine *engine, const struct flow_engine_input *input);
/* This event, at an offset of the segment, is about to be reported: if it is of the next part, goes over to that. */
int libipt_part_event(struct libipt_engine *engine, uint64_t offset, struct flow_event *event);
/* Decodes what input->bytes have. */
int libipt_decode_bytes(struct libipt_engine *engine, const struct flow_engine_input *input);

/* event.c. The event in PTL's words; false: it says nothing about the flow. */
bool libipt_event_translate(const struct pt_event *from, struct flow_event *to);
/* The same for a packet that is bound to nothing, of which libipt does not know; false: it is no event. */
bool libipt_packet_translate(const struct ptl_pt_packet *from, struct flow_event *to);
/* The TSC of libipt, of which the lower 56 bits count, to trace time; 0 where the trace does not say how. */
uint64_t libipt_time(const struct ptl_machine *machine, uint64_t tsc);

#endif
