/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks of events, with images and names. */
#ifndef DUMP_PRINT_STACK_H
#define DUMP_PRINT_STACK_H

#include <ptl/event.h>

#include "common/bytes.h"
#include "common/json.h"
#include "flow/symbol/symbol.h"

struct dump_stacks {
	const struct flow_timeline *timeline;
	struct flow_symbols *symbols;
};

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
