/* SPDX-License-Identifier: BSD-2-Clause */
/* Reduces batches of flow to spans of instructions: the code that selected calls executed. */
#ifndef FLOW_VIEW_SPAN_H
#define FLOW_VIEW_SPAN_H

#include "flow/engine/batch_copy.h"

/* A span of a segment's instructions, which begins and ends between two blocks. */
struct flow_span {
	size_t segment; /* index of the segment */
	uint64_t first,
		end;  /* instructions of the segment before the span's first, and before the first one behind it */
	size_t owner; /* number that the maker of the spans gives */
};

/* Spans in order of segments and instructions, without overlaps. */
struct flow_spans {
	const struct flow_span *list;
	size_t count;
};

/* Place in a segment's flow. */
struct flow_span_place {
	const struct flow_span *next, *end; /* the spans of the segment that are not passed yet */
	uint64_t executed;                  /* instructions of the segment so far */
	bool inside;                        /* the last block was in a span */
};

/* Returns the place at the begin of the segment. */
struct flow_span_place flow_span_start(const struct flow_spans *spans, size_t segment);

/* Returns the span of the next instruction; NULL: none. */
static inline const struct flow_span *flow_span_here(struct flow_span_place *place)
{
	while (place->next != place->end && place->next->end <= place->executed)
		place->next++;
	return place->next != place->end && place->next->first <= place->executed ? place->next : NULL;
}

/*
 * Copies the blocks and events within the spans. Behind a span, an event FLOW_DISABLED tells where the flow went.
 * Returns PTL_NO_MEMORY.
 */
int flow_span_cut(struct flow_span_place *place, struct flow_batch_copy *copy, const struct flow_batch *batch,
		  struct flow_batch *cut);

#endif
