/* SPDX-License-Identifier: BSD-2-Clause */
/* Texts of a timeline. */
#include <string.h>

#include "flow/timeline/timeline_state.h"

const char *flow_timeline_text(struct flow_timeline *timeline, const char *text)
{
	size_t size = strlen(text) + 1;
	uint64_t *known = common_byte_map_get(&timeline->texts, text, size);
	const char *copy;

	if (known)
		return (const char *)(uintptr_t)*known;
	copy = common_arena_copy(&timeline->arena, text, size - 1);
	if (!copy || common_byte_map_put(&timeline->texts, text, size, (uintptr_t)copy) < 0)
		return NULL;
	return copy;
}
