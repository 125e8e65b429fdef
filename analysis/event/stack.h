/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks of events, with images and symbols. */
#ifndef ANALYSIS_EVENT_STACK_H
#define ANALYSIS_EVENT_STACK_H

#include <ptl/event.h>

#include "common/bytes.h"
#include "common/text/json.h"
#include "flow/symbol/symbol.h"
#include "flow/timeline/query.h"

struct analysis_stacks {
	const struct flow_timeline *timeline;
	struct flow_symbols *symbols;
};

/* The address spaces of an event's stack: of its process, and of the kernel. Equal roots have equal contents. */
struct analysis_stack_space {
	flow_root roots[2];
};

struct analysis_stack_frame {
	uint64_t address;
	bool returns; /* return address of a call; else address of an instruction */
};

/* Zero-initialised: empty. */
struct analysis_stack_frames {
	struct analysis_stack_frame *list; /* owned */
	size_t count, capacity;
};

/* Whether the event has a stack. */
bool analysis_has_stack(const struct ptl_event *event);
/* Replaces `frames` by the frames of all stacks of the event, innermost first. Returns 0 or PTL_NO_MEMORY. */
int analysis_stack_frames_read(struct analysis_stack_frames *frames, const struct ptl_event *event);
struct analysis_stack_space analysis_stack_space(const struct analysis_stacks *stacks, const struct ptl_event *event);
/* Returns the image of a frame; FLOW_NONE: none. */
uint32_t analysis_stack_image(const struct analysis_stacks *stacks, const struct analysis_stack_space *space,
			      const struct analysis_stack_frame *frame);
/* Returns an address within the frame's function: a return address may already belong to the next function. */
uint64_t analysis_stack_place(const struct analysis_stacks *stacks, uint32_t image,
			      const struct analysis_stack_frame *frame);

/*
 * Appends a line for each address of the event's stacks: "    0x401136  main+0x10 (a.out)", or "ntoskrnl.exe+0x1000"
 * without a symbol.
 */
void analysis_text_stacks(struct ptl_bytes *text, const struct analysis_stacks *stacks, const struct ptl_event *event);
/*
 * Adds "stack", a list of objects with the known ones of: "ip", "symbol", "offset", "image", and "image_address" or,
 * for images of Windows, "image_offset". Adds no member without a stack. Sets scratch->failed without memory.
 */
void analysis_json_stacks(struct common_json *json, struct ptl_bytes *scratch, const struct analysis_stacks *stacks,
			  const struct ptl_event *event);

#endif
