/* SPDX-License-Identifier: BSD-2-Clause */
/* Encodes stacks: a match id of 8 bytes, then addresses. */
#include "perf/stack.h"

#define FRAME_MARKERS ((uint64_t)-4096) /* values from here on are PERF_CONTEXT_* markers of kernel or user frames */
#define STACK_TRACE64 6                 /* EVENT_HEADER_EXT_TYPE_STACK_TRACE64 */
#define FRAMES_MAX 1024

void perf_stack_put(struct ptl_bytes *storage, const uint8_t *callchain, size_t count, struct ptl_extended *item,
		    size_t *start)
{
	*start = storage->size;
	common_write_le(storage, 0, 8);
	for (size_t i = 0, frames = 0; i < count && frames < FRAMES_MAX; i++) {
		const uint64_t address = common_load64(callchain + 8 * i);

		if (address >= FRAME_MARKERS)
			continue;
		common_write_le(storage, address, 8);
		frames++;
	}
	*item = (struct ptl_extended){STACK_TRACE64, (uint16_t)(storage->size - *start), NULL};
}
