/* SPDX-License-Identifier: BSD-2-Clause */
/* How flow looks: the lines of blocks, instructions, branches and events, as text or as JSON. */
#ifndef DUMP_PRINT_FLOW_H
#define DUMP_PRINT_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"
#include "flow/engine/flow.h"
#include "flow/segment/segment.h"
#include "flow/symbol/source_line.h"
#include "flow/symbol/symbol.h"

enum dump_flow_level {
	DUMP_FLOW_BLOCK,  /* a line for each block */
	DUMP_FLOW_INSN,   /* for each instruction */
	DUMP_FLOW_BRANCH, /* for each branch that was taken */
};

/* What lines are made of. Shared by all threads. */
struct dump_flow_print {
	const struct flow_timeline *timeline;
	struct flow_symbols *symbols;
	struct flow_sources *sources; /* NULL: no source lines */
	uint64_t start_time;          /* trace clock; times are shown since then */
	enum dump_flow_level level;
	bool bounds;                          /* times have their bounds with them */
	bool merged;                          /* lines of several threads are mixed: each names its own */
	size_t thread_width;                  /* of that name */
	const char *dim, *red, *bold, *plain; /* escape sequences, or "" */
};

/* When something happened, in the trace's clock; 0: not known. */
struct dump_flow_time {
	uint64_t time;     /* estimate */
	uint64_t earliest; /* bounds */
	uint64_t latest;
};

/* A place in code. */
struct dump_flow_place {
	uint64_t ip;
	uint32_t image; /* index in the timeline, FLOW_NONE */
};

struct dump_flow_branch {
	struct dump_flow_place from;
	struct dump_flow_place to;
	bool has_to;  /* false: the flow left what was traced */
	uint8_t kind; /* enum flow_branch */
};

/*
 * A line is a head, which changes with time, and a tail, which for code that is executed again is the same
 * again: tails are made once and kept. All append to text; a tail ends with a newline.
 */
struct dump_flow_format {
	/* What stands before the lines of a stream. */
	void (*heading)(const struct dump_flow_print *print, const struct flow_segment *segment,
			struct ptl_bytes *text);
	void (*head)(const struct dump_flow_print *print, const struct flow_segment *segment,
		     const struct dump_flow_time *time, struct ptl_bytes *text);
	void (*block)(const struct dump_flow_print *print, const struct flow_block *block, struct ptl_bytes *text);
	/* The instruction of index i, which is at ip; code are its bytes. */
	void (*instruction)(const struct dump_flow_print *print, const struct flow_block *block, uint32_t i,
			    uint64_t ip, const uint8_t *code, struct ptl_bytes *text);
	void (*branch)(const struct dump_flow_print *print, const struct dump_flow_branch *branch,
		       struct ptl_bytes *text);
	/* from and to are where the event's addresses lie, if it has them. */
	void (*event)(const struct dump_flow_print *print, const struct flow_event *event,
		      const struct dump_flow_place *from, const struct dump_flow_place *to, struct ptl_bytes *text);
};

extern const struct dump_flow_format dump_flow_text;
extern const struct dump_flow_format dump_flow_json;

#endif
