/* SPDX-License-Identifier: BSD-2-Clause */
/* A sorted array of spans. Adjacent spans are joined. */
#include "flow/native/cache/spans.h"

#include <stdlib.h>
#include <string.h>

#include "common/partition.h"
#include "common/vector.h"

#define SPANS_MAX 4096

/* Returns the index of the first span with an end at or above `first`. */
static size_t place_of(const struct native_spans *set, uint64_t first)
{
	return COMMON_PARTITION(set->count, at, set->spans[at].last < first);
}

bool native_spans_meet(const struct native_spans *set, uint64_t first, uint64_t last)
{
	size_t place = place_of(set, first);

	return set->all || (place < set->count && set->spans[place].first <= last);
}

static bool reserve_span(struct native_spans *set)
{
	return set->count < SPANS_MAX && COMMON_VECTOR_GROW(set->spans, set->capacity, set->count + 1);
}

void native_spans_add(struct native_spans *set, uint64_t first, uint64_t last)
{
	/* A span that ends directly before `first` is joined, too. */
	size_t place = place_of(set, first ? first - 1 : 0), end = place;

	if (set->all)
		return;
	while (end < set->count && (last == UINT64_MAX || set->spans[end].first <= last + 1))
		end++;
	if (place == end && !reserve_span(set)) {
		set->all = true;
		return;
	}
	if (place < end) {
		first = set->spans[place].first < first ? set->spans[place].first : first;
		last = set->spans[end - 1].last > last ? set->spans[end - 1].last : last;
	}
	memmove(set->spans + place + 1, set->spans + end, (set->count - end) * sizeof(*set->spans));
	set->count = set->count - (end - place) + 1;
	set->spans[place] = (struct flow_code_span){first, last};
}

void native_spans_clear(struct native_spans *set)
{
	set->count = 0;
	set->all = false;
}

void native_spans_free(struct native_spans *set)
{
	free(set->spans);
	*set = (struct native_spans){0};
}
