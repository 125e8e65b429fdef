/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats of flow: lines for blocks, instructions, branches and events, as text or JSON. */
#ifndef DUMP_FLOW_FLOW_H
#define DUMP_FLOW_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"
#include "flow/engine/flow.h"
#include "flow/segment/segment.h"
#include "flow/symbol/source_line.h"
#include "flow/symbol/symbol.h"

enum dump_flow_level {
	DUMP_FLOW_BLOCK,  /* a line for each block */
	DUMP_FLOW_INSN,   /* a line for each instruction */
	DUMP_FLOW_BRANCH, /* a line for each taken branch */
};

/* Common data of all lines. Shared by all threads. */
struct dump_flow_print {
	const struct flow_timeline *timeline;
	struct flow_symbols *symbols;
	struct flow_sources *sources; /* NULL: no source lines */
	uint64_t start_time;          /* trace clock; displayed times are relative to this time */
	enum dump_flow_level level;
	bool bounds;                          /* times are shown with bounds */
	bool merged;                          /* lines of several threads are mixed, so each line names its thread */
	size_t thread_width;                  /* width of the thread's name */
	const char *dim, *red, *bold, *plain; /* escape sequences, or "" */
};

/* The time of an event or block on the trace's clock; 0: unknown. */
struct dump_flow_time {
	uint64_t time;     /* estimate */
	uint64_t earliest; /* bounds of the time */
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
	bool has_to;  /* false: the flow left the traced code */
	uint8_t kind; /* enum flow_branch */
};

/*
 * Functions that format lines. A line consists of a head, which changes with time, and a tail. Tails are equal for code
 * that is executed again, so they are made once and cached. All functions append to `text`; a tail ends with a newline.
 */
struct dump_flow_format {
	/* Appends the heading before the lines of a stream. */
	void (*heading)(const struct dump_flow_print *print, const struct flow_segment *segment,
			struct ptl_bytes *text);
	void (*head)(const struct dump_flow_print *print, const struct flow_segment *segment,
		     const struct dump_flow_time *time, struct ptl_bytes *text);
	void (*block)(const struct dump_flow_print *print, const struct flow_block *block, struct ptl_bytes *text);
	/* Appends instruction number i of the block. ip: address; code: its bytes. */
	void (*instruction)(const struct dump_flow_print *print, const struct flow_block *block, uint32_t i,
			    uint64_t ip, const uint8_t *code, struct ptl_bytes *text);
	void (*branch)(const struct dump_flow_print *print, const struct dump_flow_branch *branch,
		       struct ptl_bytes *text);
	/* Appends an event. from, to: places of the event's addresses, if present. */
	void (*event)(const struct dump_flow_print *print, const struct flow_event *event,
		      const struct dump_flow_place *from, const struct dump_flow_place *to, struct ptl_bytes *text);
};

extern const struct dump_flow_format dump_flow_text;
extern const struct dump_flow_format dump_flow_json;

#endif
