/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts shared by the two libipt engines: everything except the decoder itself. */
#ifndef FLOW_LIBIPT_ENGINE_H
#define FLOW_LIBIPT_ENGINE_H

#include <intel-pt.h>

#include "common/hash_map.h"
#include "flow/code/filter.h"
#include "flow/segment/errata.h"
#include "flow/engine/builder.h"
#include "flow/segment/clock.h"

struct libipt_engine;

/* One of libipt's decoders, as a table of functions. */
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
	 * Decodes a step, and passes executed instructions to libipt_run. Returns libipt's status; a negative
	 * pt_error_code is no failure of the engine yet. *address: the walk's place, for messages. *failure: a negative
	 * ptl_status.
	 */
	int (*step)(struct libipt_engine *engine, uint64_t *address, int *failure);
};

/* State of code_time.c: progress in the packets for the time of the code. */
struct libipt_code_time {
	struct flow_clock clock;
	size_t offset; /* offset of the first packet that the clock has not seen */
	struct ptl_pt_context context;
	/* Differences between the packets seen so far and libipt's reports. libipt may be ahead: */
	int bits;      /* TNT bits minus branches */
	int events;    /* TIP.PGE, TIP.PGD, and TIP behind a FUP, minus their events */
	bool returned; /* the last run of instructions ended with a return: a TNT bit, or the next TIP */
	bool has_fup;  /* a FUP waits for its TIP */
	bool owns_fup; /* a packet of another kind waits for its FUP */
};

struct libipt_engine {
	const struct libipt_decoder *class;
	void *decoder;
	struct flow_code *code;
	const struct ptl_machine *machine;
	struct flow_errata errata; /* errata of the machine */
	const struct flow_engine_input *input;
	const struct flow_sink *sink;

	/* For a part of a CPU's segment: number of the walk's current part. Flow of earlier parts is discarded. */
	size_t part;
	bool part_enabled; /* packets were enabled in this part */
	uint8_t *replayed; /* copy of the segment, made decodable from a part on */
	size_t replayed_capacity;
	size_t enables; /* offset behind the TIP.PGE of the last FLOW_ENABLED; for libipt 2.1 and later */
	struct ptl_pt_context enables_context;
	size_t next_enables; /* offset behind the next TIP.PGE, 0: not looked for */
	struct ptl_pt_context next_context;

	struct libipt_code_time code_time;

	/* The decoder's buffer. A segment lies at the buffer's end, so one decoder serves all segments. */
	uint8_t *buffer;
	size_t capacity;
	size_t start;      /* offset of the segment in the buffer */
	size_t inserted;   /* bytes of the MODE.Exec inserted behind the PSB */
	size_t given;      /* bytes of the segment given to libipt; later packets have no flow */
	size_t whole;      /* bytes of the segment in complete packets */
	bool has_next;     /* the next segment shows the end of this segment */
	bool enabled;      /* packets are enabled at the walk's place */
	bool overflowed;   /* the segment ends with an overflow, and no later packet gives the place of flow */
	bool closed;       /* an appended FUP and TIP.PGD end the segment */
	bool reached;      /* the walk has reached the appended packets */
	bool torn;         /* the segment's last FUP has no TIP, and another segment follows */
	bool in_guest;     /* the walk has reached a guest without code */
	bool asked_guests; /* the segment has packets of guests, whose code is in the trace unless in_guest */

	/* Code. */
	struct flow_version version;
	uint32_t process;           /* process of the code */
	bool leaves_kernel;         /* flow may continue outside of the kernel */
	struct format_piece piece;  /* piece of `version` that the callback read last */
	const uint8_t *piece_bytes; /* bytes of the piece's whole blob; NULL: nothing was read yet */
	flow_root files;            /* root of the pieces in `image` */
	bool has_image;
	struct pt_image *image;
	struct pt_image_section_cache *sections;
	struct common_byte_map section_ids;
	bool filtered; /* the machine has address filters: */
	struct flow_filter_range filters[FLOW_FILTER_RANGES];
	unsigned filter_count;
	bool filters_changed; /* the filters have changed since the decoder was made */

	/* Detection of an endless walk. */
	uint64_t steps;      /* steps since the last packet or event */
	uint64_t remembered; /* beginning of one of these steps */
	bool endless;
	bool stepped; /* the last step had instructions */

	/* State of newer.c. */
	enum pt_exec_mode mode; /* mode of the last mode event */
	bool mode_known;        /* the last event was a mode event */

	struct flow_builder builder;
};

int libipt_open(const struct libipt_decoder *class, struct flow_code *code, const struct ptl_machine *machine,
		struct flow_engine **engine);
int libipt_decode(struct flow_engine *engine, const struct flow_engine_input *input, const struct flow_sink *sink);
void libipt_close(struct flow_engine *engine);

/* Adds a run of instructions. Called by a decoder's step. Returns as flow_builder_run does. */
int libipt_run(struct libipt_engine *engine, uint64_t ip, uint64_t last_ip, uint32_t count, enum pt_exec_mode mode,
	       bool speculative);

/* code.c. libipt_code_select gives the decoder the code of the segment's process at this time. */
int libipt_code_open(struct libipt_engine *engine);
void libipt_code_close(struct libipt_engine *engine);
int libipt_code_select(struct libipt_engine *engine, uint64_t time);

/* code_time.c. Returns the time that selects the code while libipt is at this offset of the segment. */
uint64_t libipt_code_time(struct libipt_engine *engine, uint64_t offset);
void libipt_code_time_start(struct libipt_engine *engine);
/*
 * Record that a run of instructions ended in this branch (enum flow_branch), and that an event of this kind (enum
 * flow_kind) was reported.
 */
void libipt_code_time_branch(struct libipt_engine *engine, uint8_t branch);
void libipt_code_time_event(struct libipt_engine *engine, uint8_t kind);

/* part.c. Begins the current part: selects the part's code, and the sink of its flow. */
int libipt_part_enter(struct libipt_engine *engine, const struct flow_segment *segment);
/* Returns the offset in the segment at which the part begins. */
uint64_t libipt_part_begin(const struct flow_segment *segment, size_t part);
/*
 * Called before the event, at an offset of the segment, is reported. If the event belongs to the next part, begins the
 * next part.
 */
int libipt_part_event(struct libipt_engine *engine, uint64_t offset, struct flow_event *event);
/* Decodes input->bytes. */
int libipt_decode_bytes(struct libipt_engine *engine, const struct flow_engine_input *input);

/* event.c. Converts libipt's event to PTL's event. Returns false for an event without flow. */
bool libipt_event_translate(const struct pt_event *from, struct flow_event *to);
/*
 * Converts a packet that is bound to no address and was not given to libipt. Returns false if the packet is no event.
 */
bool libipt_packet_translate(const struct ptl_pt_packet *from, struct flow_event *to);
/* Converts libipt's TSC, of which the lower 56 bits count, to trace time; 0 if the trace has no conversion. */
uint64_t libipt_time(const struct ptl_machine *machine, uint64_t tsc);

#endif
