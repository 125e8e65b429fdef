/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Growing arrays, of two kinds. Where something must be added often, the array has its capacity beside it, and doubles.
 * Where there are many arrays, or large ones, the room goes by the count alone, and is at most an eighth too much.
 */
#ifndef COMMON_VECTOR_H
#define COMMON_VECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/error.h"

#define COMMON_VECTOR_FIRST 16 /* elements: a power of two */

/* ---- arrays with a capacity ------------------------------------------------------------------ */

/*
 * Makes room for `wanted` elements in all: array is a pointer to elements, capacity an unsigned integer, both zero at
 * first, and both change. False without memory: nothing has changed. Arguments may be evaluated twice.
 */
#define COMMON_VECTOR_GROW(array, capacity, wanted)                                                                    \
	(__builtin_expect((size_t)(wanted) <= (size_t)(capacity), 1) || __extension__({                                \
		 const size_t room_ = common_vector_capacity((capacity), (wanted), (size_t)(__typeof__(capacity))-1);  \
		 void *const grown_ = common_vector_resize((void *)(array), sizeof(*(array)), room_);                  \
		 if (grown_) {                                                                                         \
			 (array) = grown_;                                                                             \
			 (capacity) = (__typeof__(capacity))room_;                                                     \
		 }                                                                                                     \
		 grown_ != NULL;                                                                                       \
	 }))
/* The same; 0, or PTL_NO_MEMORY with a text that names what. */
#define COMMON_VECTOR_RESERVE(array, capacity, wanted, what)                                                           \
	(COMMON_VECTOR_GROW(array, capacity, wanted) ? 0 : common_vector_fail((what), (wanted), sizeof(*(array))))

/*
 * For the macros, in which no variable has its address taken, so that functions do without a canary: what the capacity
 * becomes where it is at least `wanted`, and at most `most`; 0: it cannot.
 */
size_t common_vector_capacity(size_t capacity, size_t wanted, size_t most) __attribute__((cold));
/* The array with room for so many; NULL without memory, or for none. */
void *common_vector_resize(void *array, size_t element, size_t room) __attribute__((cold));
int common_vector_fail(const char *what, size_t wanted, size_t element) __attribute__((cold));

/* ---- arrays without one ---------------------------------------------------------------------- */

/* Elements by which an array grows that is full with count of them: a power of two. */
static inline size_t common_vector_step(size_t count)
{
	const unsigned bits = 63 - (unsigned)__builtin_clzll(count | COMMON_VECTOR_FIRST);
	const size_t step = (size_t)1 << bits >> 3;

	return step < COMMON_VECTOR_FIRST ? COMMON_VECTOR_FIRST : step;
}

/* For common_vector_room. */
bool common_vector_extend(void *array, size_t count, size_t element) __attribute__((cold));

/*
 * Makes room for one element more in *array (a pointer to a pointer), which holds count elements
 * and has only ever grown one by one through this function. False without memory: nothing has
 * changed.
 */
static inline bool common_vector_room(void *array, size_t count, size_t element)
{
	return count & (common_vector_step(count) - 1) || common_vector_extend(array, count, element);
}

#endif
