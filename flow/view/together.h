/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Segments whose threads take turns in one stretch of packets: these are decoded once for all of them. The first one in order has the
 * others decoded with it, and keeps their partial results until it is their turn.
 */
#ifndef FLOW_VIEW_TOGETHER_H
#define FLOW_VIEW_TOGETHER_H

#include <stdbool.h>
#include <stddef.h>

#include "flow/segment/segment.h"

/* By place in order. Zero-initialised is without any. */
struct flow_together {
	size_t *next;    /* segment of the same turns; 0: none */
	bool *follows;   /* one before it has it decoded */
	void **partials; /* of those that follow */
	size_t count;
};

/* Of the segments in this order. PTL_NO_MEMORY; to be freed in any case. */
int flow_together_make(struct flow_together *together, const struct flow_segment *const *order, size_t count);
void flow_together_free(struct flow_together *together);

/* Whether the segment is decoded with one before it. */
static inline bool flow_together_follows(const struct flow_together *together, size_t place)
{
	return together->count && together->follows[place];
}

/* How many are decoded with this one: itself, too. */
size_t flow_together_count(const struct flow_together *together, size_t place);

#endif
