/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Segments whose threads take turns in one stretch of packets. The packets are decoded only once: the first such
 * segment also decodes the others, and keeps their partial results until their places come.
 */
#ifndef FLOW_VIEW_TOGETHER_H
#define FLOW_VIEW_TOGETHER_H

#include <stdbool.h>
#include <stddef.h>

#include "flow/segment/segment.h"

/* The links, by place in the order of segments. Zero-initialised, without links. */
struct flow_together {
	size_t *next;    /* place of the next segment with the same turns; 0: last segment */
	bool *follows;   /* an earlier segment also decodes this segment */
	void **partials; /* partial results of following segments */
	size_t count;
};

/* Makes the links for segments in this order. Returns PTL_NO_MEMORY. The caller frees the links in any case. */
int flow_together_make(struct flow_together *together, const struct flow_segment *const *order, size_t count);
void flow_together_free(struct flow_together *together);

/* Checks whether the segment is decoded with an earlier segment. */
static inline bool flow_together_follows(const struct flow_together *together, size_t place)
{
	return together->count && together->follows[place];
}

/* Returns the number of segments decoded with this segment, including itself. */
size_t flow_together_count(const struct flow_together *together, size_t place);

#endif
