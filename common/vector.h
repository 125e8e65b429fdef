/* SPDX-License-Identifier: BSD-2-Clause */
/* Growing arrays without a capacity field: their room goes by their count alone, at most an eighth too much of it. */
#ifndef COMMON_VECTOR_H
#define COMMON_VECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define COMMON_VECTOR_FIRST 16 /* a power of two */

/* Elements by which an array grows that is full with count of them: a power of two. */
static inline size_t common_vector_step(size_t count)
{
	const unsigned bits = 63 - (unsigned)__builtin_clzll(count | COMMON_VECTOR_FIRST);
	const size_t step = (size_t)1 << bits >> 3;

	return step < COMMON_VECTOR_FIRST ? COMMON_VECTOR_FIRST : step;
}

/*
 * Makes room for one element more in *array (a pointer to a pointer), which holds count elements
 * and has only ever grown one by one through this function. False without memory: nothing has
 * changed.
 */
static inline bool common_vector_room(void *array, size_t count, size_t element)
{
	const size_t step = common_vector_step(count);
	void **place = array, *grown;

	if (count & (step - 1))
		return true;
	if (count > SIZE_MAX / 2 / element)
		return false;
	grown = realloc(*place, (count + step) * element);
	if (grown)
		*place = grown;
	return grown;
}

#endif
