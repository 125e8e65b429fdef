/* SPDX-License-Identifier: BSD-2-Clause */
/* A small set of addresses, as spans in order. */
#ifndef FLOW_NATIVE_CACHE_SPANS_H
#define FLOW_NATIVE_CACHE_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/code/range.h"

/* Zero-initialised is empty. A set that would have too many spans, or no memory for them, is of all addresses. */
struct native_spans {
	struct flow_code_span *spans; /* apart from each other, in order */
	size_t count;
	size_t capacity;
	bool all;
};

void native_spans_add(struct native_spans *set, uint64_t first, uint64_t last);
/* Whether any address of [first, last] is in the set. */
bool native_spans_meet(const struct native_spans *set, uint64_t first, uint64_t last);
/* Empties it. */
void native_spans_clear(struct native_spans *set);
void native_spans_free(struct native_spans *set);

#endif
