/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the segments that share turns. */
#include "flow/view/together.h"

#include <stdint.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/hash_map.h"

/* Links the segment to the last earlier segment with the same turns. last: that segment's place, by turns. */
static int link_segment(struct flow_together *together, struct common_hash_map *last,
			const struct flow_segment *segment, size_t place)
{
	const uint64_t turns = (uint64_t)(uintptr_t)segment->turns;
	const uint64_t *before;

	if (!turns || segment->unknown)
		return 0;
	before = common_hash_map_get(last, turns);
	if (before) {
		together->next[*before] = place;
		together->follows[place] = true;
	}
	return common_hash_map_put(last, turns, place);
}

int flow_together_make(struct flow_together *together, const struct flow_segment *const *order, size_t count)
{
	struct common_hash_map last = {0};
	int status = 0;

	together->next = calloc(count + 1, sizeof(*together->next));
	together->follows = calloc(count + 1, sizeof(*together->follows));
	together->partials = calloc(count + 1, sizeof(*together->partials));
	together->count = count;
	if (!together->next || !together->follows || !together->partials)
		return common_fail_memory("order of segments", count * sizeof(*together->next));
	for (size_t i = 0; !status && i < count; i++)
		status = link_segment(together, &last, order[i], i);
	common_hash_map_free(&last);
	return status;
}

void flow_together_free(struct flow_together *together)
{
	free(together->next);
	free(together->follows);
	free(together->partials);
	*together = (struct flow_together){0};
}

size_t flow_together_count(const struct flow_together *together, size_t place)
{
	size_t count = 1;

	while (together->count && (place = together->next[place]) != 0)
		count++;
	return count;
}
