/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks of events, with images and names. */
#ifndef DUMP_PRINT_STACK_H
#define DUMP_PRINT_STACK_H

#include <ptl/event.h>

#include "common/bytes.h"
#include "common/text/json.h"
#include "flow/symbol/symbol.h"
#include "flow/timeline/query.h"

struct dump_stacks {
	const struct flow_timeline *timeline;
	struct flow_symbols *symbols;
};

/* Where the addresses of an event's stack lie: in spaces of its process, and of the kernel. Equal ones have the same in them. */
struct dump_stack_space {
	flow_root roots[2];
};

struct dump_stack_frame {
	uint64_t address;
	bool returns; /* a call returns there; else it is of an instruction */
};

/* Zero-initialised is empty. */
struct dump_stack_frames {
	struct dump_stack_frame *list; /* owned */
	size_t count, capacity;
};

/* Whether the event has a stack. */
bool dump_has_stack(const struct ptl_event *event);
/* The frames of all stacks of the event, the innermost first, instead of what was there. PTL_NO_MEMORY. */
int dump_stack_frames_read(struct dump_stack_frames *frames, const struct ptl_event *event);
struct dump_stack_space dump_stack_space(const struct dump_stacks *stacks, const struct ptl_event *event);
/* The image that the frame is in; FLOW_NONE. */
uint32_t dump_stack_image(const struct dump_stacks *stacks, const struct dump_stack_space *space,
			  const struct dump_stack_frame *frame);
/* The address that is in the frame's function: behind a call another one may begin. */
uint64_t dump_stack_place(const struct dump_stacks *stacks, uint32_t image, const struct dump_stack_frame *frame);

/*
 * Appends a line for each address of the event's stacks: "    0x401136  main+0x10 (a.out)", or "ntoskrnl.exe+0x1000" where
 * no symbol is known.
 */
void dump_text_stacks(struct ptl_bytes *text, const struct dump_stacks *stacks, const struct ptl_event *event);
/*
 * Adds "stack", a list of objects: "ip", "symbol", "offset", "image", "image_address" or, in images of Windows, "image_offset", as far as they are known. Nothing
 * where there is none. Memory that is lacking is left in scratch->failed.
 */
void dump_json_stacks(struct common_json *json, struct ptl_bytes *scratch, const struct dump_stacks *stacks,
		      const struct ptl_event *event);

#endif
