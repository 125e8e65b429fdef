/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of the timeline grow. */
#include "common/error.h"
#include "common/vector.h"
#include "flow/timeline/timeline_state.h"

int flow_timeline_grow(void **array, size_t count, size_t *capacity, size_t element)
{
	size_t room;
	void *grown;

	if (count < *capacity)
		return 0;
	/* Indexes are 32 bits wide, and FLOW_NONE is no index. */
	if (count >= FLOW_NONE / 2)
		return common_fail(PTL_NO_MEMORY, "too many processes, threads or images");
	room = common_vector_capacity(*capacity, count + 1, FLOW_NONE / 2);
	grown = common_vector_resize(*array, element, room);
	if (!grown)
		return common_vector_fail("timeline", count + 1, element);
	*array = grown;
	*capacity = room;
	return 0;
}
