/* SPDX-License-Identifier: BSD-2-Clause */
/* Interface of a flow engine. An engine turns the PT bytes of a segment into blocks and events. */
#ifndef FLOW_ENGINE_ENGINE_H
#define FLOW_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/engine/flow.h"
#include "flow/engine/step.h"
#include "flow/segment/segment.h"

struct flow_engine; /* an engine with its caches; each worker thread has an engine */
struct flow_code;   /* all code of a trace, shared by all engines: see flow/code/code.h */

#define FLOW_CALLS_MAX 64 /* number of calls that a CPU remembers: SDM, "Indirect Transfer Compression for Returns" */

/* Return addresses of the calls that a CPU remembers, oldest first. */
struct flow_return_stack {
	uint64_t returns[FLOW_CALLS_MAX];
	unsigned count;
	bool lost; /* a gap may hide older calls */
};

/* Meaning of packets of VMX non-root operation. */
enum flow_guest {
	FLOW_GUEST_NONE = 0, /* the machine was recorded from within: the packets belong to the process */
	FLOW_GUEST_APART,    /* the packets belong to a guest whose code the process lacks: a gap, FLOW_GAP_GUEST */
	FLOW_GUEST_SHARED,   /* the guest executes the process's code, with a TSC of its own */
};

/* A segment to decode. */
struct flow_engine_input {
	const struct flow_segment *segment;
	/*
	 * For a part of a segment: gives the calls that the CPU remembers at the part's beginning. Called if a return
	 * needs an older call. NULL: no older calls. A negative result ends the decoding.
	 */
	int (*calls_before)(void *context, const struct flow_segment *segment, struct flow_return_stack *calls);
	void *calls_context;
	/* Result: the calls that the CPU remembers at the segment's end. NULL: not wanted. */
	struct flow_return_stack *calls_after;
	/*
	 * For a segment with turns. Called when flow leaves the kernel and the sink has all earlier flow. Returns the
	 * process whose code is executed next. NULL: the segment's process.
	 */
	uint32_t (*process)(void *context, uint64_t time);
	void *process_context;
	/*
	 * Called once if packets are of VMX non-root operation (PIP with NR). Returns enum flow_guest; a negative result
	 * ends the decoding. NULL: FLOW_GUEST_NONE.
	 */
	int (*has_guests)(void *context, const struct flow_engine_input *input);
	void *guests_context;
	/*
	 * The segment's bytes, starting with the PSB. The engine may write up to FLOW_ENGINE_ROOM bytes behind the
	 * segment, but must not change the bytes of the segment.
	 */
	uint8_t *bytes;
	size_t size;
	/*
	 * End of the segment. has_next: the next segment follows without a hole. If next_ip_known, the next segment
	 * begins with the instruction at next_ip, and all earlier instructions belong to this segment. If has_next
	 * without next_ip_known, packets are disabled at the end. Without has_next, the flow ends with the last
	 * instruction that the packets prove.
	 */
	bool has_next;
	bool next_ip_known;
	uint64_t next_ip;
};

#define FLOW_ENGINE_ROOM 64

/* Consumer of flow. take receives a batch. A non-zero result stops the decoding, and becomes the decoding's result. */
struct flow_sink {
	int (*take)(void *context, const struct flow_batch *batch);
	void *context;
	/*
	 * Optional: receives a run of blocks without events in between. *home_number: the consumer's home after the
	 * run; 0 at the beginning of a row of steps. If *home_number is not 0, the engine passes runs with an equal
	 * home silently, up to a run with another home. Engines may give batches instead of steps.
	 */
	int (*step)(void *context, const struct flow_step *step, uint32_t *home_number);
	void *step_context;
};

/*
 * Consumer of counts: how often runs of blocks were executed, and how often an indirect branch led from a block to
 * another block. The order of calls has no meaning, and neither has the number of calls for the same blocks. A negative
 * result ends the decoding.
 */
struct flow_count_sink {
	/* taken: number of taken branches at the run's end, if the last block ends with a conditional branch. */
	int (*run)(void *context, const struct flow_block_run *run, uint64_t count, uint64_t taken);
	int (*edge)(void *context, const struct flow_block *from, const struct flow_block *to, uint64_t count);
	void *context;
};

/* Source of the segments to count; at most FLOW_ENGINE_PLACES segments at a time. */
#define FLOW_ENGINE_PLACES 8

struct flow_engine_feed {
	/*
	 * Fills a free place with the next segment and its sink. The segment's bytes are valid until `done` is called
	 * for the place. Returns 1; 0: no further segment; negative: ends the decoding.
	 */
	int (*next)(void *context, unsigned place, struct flow_engine_input *input, struct flow_sink *sink);
	/* Called when the segment of the place is decoded. A negative result ends the decoding. */
	int (*done)(void *context, unsigned place);
	void *context;
	const struct flow_count_sink *counts; /* outlives the engine; NULL: only sums and events are wanted */
};

struct flow_engine_class {
	const char *name;        /* name for --engine */
	const char *description; /* one line for the help text */
	/* Opens an engine. code and machine must outlive the engine. Returns PTL_NO_MEMORY or PTL_UNSUPPORTED. */
	int (*open)(struct flow_code *code, const struct ptl_machine *machine, struct flow_engine **engine);
	/*
	 * Decodes one segment, and gives the flow to the sink in one or more batches. Wrong packets and missing code
	 * become gaps in the flow. A negative result means that the engine cannot continue (PTL_NO_MEMORY), or comes
	 * from the sink.
	 */
	int (*decode)(struct flow_engine *engine, const struct flow_engine_input *input, const struct flow_sink *sink);
	/*
	 * Optional: decodes several segments at a time, for consumers that need no order of blocks. Counted blocks are
	 * in no run of a batch. Without a sink for counts, the sums of a batch include the counted blocks. Batches may
	 * have no marks.
	 */
	int (*count)(struct flow_engine *engine, const struct flow_engine_feed *feed);
	/* Gives the remaining counts to the feed's sink. Called after the last segment. */
	int (*flush)(struct flow_engine *engine);
	/*
	 * true: decode also receives the earlier parts of a segment. `bytes` are unchanged, and calls_before has no
	 * meaning. false: the bytes before the part have been replaced by flow/segment/replay.h.
	 */
	bool takes_parts;
	void (*close)(struct flow_engine *engine);
};

#endif
