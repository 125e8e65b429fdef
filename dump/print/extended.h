/* SPDX-License-Identifier: BSD-2-Clause */
/* Extended items of events, as ETW defines them and libptl beside it. */
#ifndef DUMP_PRINT_EXTENDED_H
#define DUMP_PRINT_EXTENDED_H

#include <ptl/event.h>

#include "common/bytes.h"
#include "common/text/json.h"

/* Addresses of a stack, the innermost first. */
struct dump_stack {
	uint64_t match; /* the number that joins parts of one stack, 0 where they are together */
	const uint8_t *frames;
	size_t count;
	size_t size; /* bytes of an address: 4 or 8 */
};

/* Whether the item is a stack. */
bool dump_stack_read(const struct ptl_extended *item, struct dump_stack *stack);
uint64_t dump_stack_frame(const struct dump_stack *stack, size_t i);

/* Appends " sid=S-1-5-18", " instance={Id=7 ...}"; " extended:99=0102" where the type or its form is unknown. */
void dump_text_extended(struct ptl_bytes *text, const struct ptl_extended *item);
/*
 * Adds an object: "type", "data" (hexadecimal), and of a type that is known its "name", and "value" or members of their
 * own. Memory that is lacking is left in scratch->failed.
 */
void dump_json_extended(struct common_json *json, struct ptl_bytes *scratch, const struct ptl_extended *item);

#endif
