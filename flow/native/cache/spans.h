/* SPDX-License-Identifier: BSD-2-Clause */
/* A small set of addresses, as ordered spans. */
#ifndef FLOW_NATIVE_CACHE_SPANS_H
#define FLOW_NATIVE_CACHE_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/code/range.h"

/*
 * A set of addresses. Zero-initialised, the set is empty. If a set has too many spans, or without memory, the set
 * contains all addresses.
 */
struct native_spans {
	struct flow_code_span *spans; /* ordered spans, not adjacent */
	size_t count;
	size_t capacity;
	bool all;
};

void native_spans_add(struct native_spans *set, uint64_t first, uint64_t last);
/* Checks whether the set contains an address of [first, last]. */
bool native_spans_meet(const struct native_spans *set, uint64_t first, uint64_t last);
/* Empties the set. */
void native_spans_clear(struct native_spans *set);
void native_spans_free(struct native_spans *set);

#endif
