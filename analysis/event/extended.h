/* SPDX-License-Identifier: BSD-2-Clause */
/* Extended items of events: the types of ETW, and types of libptl. */
#ifndef ANALYSIS_EVENT_EXTENDED_H
#define ANALYSIS_EVENT_EXTENDED_H

#include <ptl/event.h>

#include "common/bytes.h"
#include "common/text/json.h"

/* A stack: addresses, innermost first. */
struct analysis_stack {
	uint64_t match; /* number that joins parts of one stack; 0: the stack is complete */
	const uint8_t *frames;
	size_t count;
	size_t size; /* bytes per address: 4 or 8 */
};

/* Reads the item as a stack. Returns false for other items. */
bool analysis_stack_read(const struct ptl_extended *item, struct analysis_stack *stack);
uint64_t analysis_stack_frame(const struct analysis_stack *stack, size_t i);

/* Appends " sid=S-1-5-18" or " instance={Id=7 ...}"; " extended:99=0102" for an unknown type or a malformed item. */
void analysis_text_extended(struct ptl_bytes *text, const struct ptl_extended *item);
/*
 * Adds an object with "type" and "data" (hexadecimal). For known types, also "name", and "value" or one member for each
 * member of the item. Sets scratch->failed without memory.
 */
void analysis_json_extended(struct common_json *json, struct ptl_bytes *scratch, const struct ptl_extended *item);

#endif
