/* SPDX-License-Identifier: BSD-2-Clause */
/* Growing arrays without a capacity field: they are as large as the next power of two. */
#ifndef PTL_FORMAT_VECTOR_H
#define PTL_FORMAT_VECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define PTL_VECTOR_FIRST 16 /* a power of two */

/*
 * Makes room for one element more in *array (a pointer to a pointer), which holds count elements
 * and has only ever grown one by one through this function. False without memory: nothing has
 * changed.
 */
static inline bool ptl_vector_room(void *array, size_t count, size_t element)
{
	void **place = array, *grown;

	if ((count & (count - 1)) || (count && count < PTL_VECTOR_FIRST))
		return true;
	if (count > SIZE_MAX / 2 / element)
		return false;
	grown = realloc(*place, (count ? 2 * count : PTL_VECTOR_FIRST) * element);
	if (grown)
		*place = grown;
	return grown;
}

#endif
