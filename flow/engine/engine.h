/* SPDX-License-Identifier: BSD-2-Clause */
/* What a flow engine is: it turns the PT bytes of one segment into blocks and events. */
#ifndef FLOW_ENGINE_ENGINE_H
#define FLOW_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/engine/flow.h"
#include "flow/engine/step.h"
#include "flow/segment/segment.h"

struct flow_engine; /* one per worker thread, with its caches */
struct flow_code;   /* all code of a trace: shared by all engines, see flow/code/code.h */

#define FLOW_CALLS_MAX 64 /* that a CPU remembers: SDM, "Indirect Transfer Compression for Returns" */

/* Where the calls that a CPU remembers return to, the oldest first. */
struct flow_return_stack {
	uint64_t returns[FLOW_CALLS_MAX];
	unsigned count;
	bool lost; /* there may be more below them, which a gap hides */
};

/* One segment to decode. */
struct flow_engine_input {
	const struct flow_segment *segment;
	/*
	 * Of a part of what lies between two PSBs: gives the calls that the CPU remembers where the part begins, if a
	 * return asks for them. NULL: there are none. Negative: ends the decoding.
	 */
	int (*calls_before)(void *context, const struct flow_segment *segment, struct flow_return_stack *calls);
	void *calls_context;
	/* Where the engine puts the calls that the CPU remembers where the segment ends. NULL: nobody wants them. */
	struct flow_return_stack *calls_after;
	/*
	 * Of a segment in which threads take turns: where the flow goes on outside of the kernel, and all before has been given
	 * to the sink, gives the process whose code is executed from there on. NULL: it is the segment's.
	 */
	uint32_t (*process)(void *context, uint64_t time);
	void *process_context;
	/*
	 * The segment's bytes, starting with its PSB. The engine may write up to FLOW_ENGINE_ROOM
	 * bytes behind them and must leave the bytes themselves alone.
	 */
	uint8_t *bytes;
	size_t size;
	/*
	 * How the segment ends. has_next: the next segment starts seamlessly behind it. Then, if
	 * next_ip_known, the instruction at next_ip is the first one that is the next segment's;
	 * all before it are this one's. If has_next and not next_ip_known, packets are disabled
	 * there. Without has_next the flow ends with the last instruction that the packets prove.
	 */
	bool has_next;
	bool next_ip_known;
	uint64_t next_ip;
};

#define FLOW_ENGINE_ROOM 64

/* Takes a batch of flow; a non-zero result stops the decoding and is returned by it. */
struct flow_sink {
	int (*take)(void *context, const struct flow_batch *batch);
	void *context;
	/*
	 * Optional: takes a run of blocks, between which no event stands, and says in *home (0 where a row of steps begins)
	 * where it is then: runs of the same home, which is not 0, are passed until there is another. Engines may as well
	 * give batches.
	 */
	int (*step)(void *context, const struct flow_step *step, uint32_t *home);
	void *step_context;
	const struct flow_step_states *states; /* of the consumer of steps; NULL: they have no numbers */
};

/*
 * Takes how often blocks were executed one after the other, and how often an indirect branch led from one block to
 * another. The order, and how often it gets the same blocks, mean nothing. Negative: ends all.
 */
struct flow_count_sink {
	/* taken: of the last block's branch, if it is a conditional one; the others were not. */
	int (*run)(void *context, const struct flow_block_run *run, uint64_t count, uint64_t taken);
	int (*edge)(void *context, const struct flow_block *from, const struct flow_block *to, uint64_t count);
	void *context;
};

/* Where segments to be counted come from: up to FLOW_ENGINE_PLACES of them at a time. */
#define FLOW_ENGINE_PLACES 8

struct flow_engine_feed {
	/*
	 * The next segment and where its flow goes, for a place that holds none; its bytes stay good until `done`
	 * of that place. 1; 0: there is none; negative: ends all.
	 */
	int (*next)(void *context, unsigned place, struct flow_engine_input *input, struct flow_sink *sink);
	/* The segment of the place is done. Negative: ends all. */
	int (*done)(void *context, unsigned place);
	void *context;
	const struct flow_count_sink *counts; /* outlives the engine; NULL: sums and events suffice */
};

struct flow_engine_class {
	const char *name;        /* as --engine takes it */
	const char *description; /* one line for the help */
	/* code and machine outlive the engine. PTL_NO_MEMORY, PTL_UNSUPPORTED. */
	int (*open)(struct flow_code *code, const struct ptl_machine *machine, struct flow_engine **engine);
	/*
	 * Decodes one segment and gives its flow to the sink in one or more batches. Whatever is
	 * wrong with the packets or the code becomes a gap in the flow; a negative result means
	 * that the engine cannot go on at all (PTL_NO_MEMORY), or comes from the sink.
	 */
	int (*decode)(struct flow_engine *engine, const struct flow_engine_input *input, const struct flow_sink *sink);
	/*
	 * Optional: the same for several segments at a time, for consumers that do without the order of blocks. What is
	 * counted is in no run of a batch; without a sink for counts it is in its sums. Batches may have no marks.
	 */
	int (*count)(struct flow_engine *engine, const struct flow_engine_feed *feed);
	/* Gives what was counted and not given yet to the sink of the feed. Behind the last segment. */
	int (*flush)(struct flow_engine *engine);
	/*
	 * Takes the parts of a segment before the one that is asked for, too: `bytes` are as they are in the stream, and
	 * calls_before means nothing. Else they have been made decodable from the part on: see flow/segment/replay.h.
	 */
	bool takes_parts;
	void (*close)(struct flow_engine *engine);
};

#endif
