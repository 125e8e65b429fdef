/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Growing arrays, of two kinds. An array with a capacity member doubles, for frequent appends. An array without a
 * capacity derives its room from the count alone, and wastes at most an eighth: for many arrays, or large arrays.
 */
#ifndef COMMON_VECTOR_H
#define COMMON_VECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/error.h"

#define COMMON_VECTOR_FIRST 16 /* elements; a power of two */

/* ---- arrays with a capacity ------------------------------------------------------------------ */

/*
 * Makes room for `wanted` elements in total. array: pointer to elements; capacity: unsigned integer; both initially
 * zero, both updated. False without memory: nothing has changed then. Arguments may be evaluated twice.
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
/* As COMMON_VECTOR_GROW. Returns 0, or PTL_NO_MEMORY with a text that names `what`. */
#define COMMON_VECTOR_RESERVE(array, capacity, wanted, what)                                                           \
	(COMMON_VECTOR_GROW(array, capacity, wanted) ? 0 : common_vector_fail((what), (wanted), sizeof(*(array))))

/*
 * For the macros: returns a capacity of `wanted` to `most`; 0 if wanted > most. The macros take no variable's address,
 * so that functions using the macros need no stack canary.
 */
size_t common_vector_capacity(size_t capacity, size_t wanted, size_t most) __attribute__((cold));
/* For the macros: reallocates the array for `room` elements. NULL without memory, or if room is 0. */
void *common_vector_resize(void *array, size_t element, size_t room) __attribute__((cold));
int common_vector_fail(const char *what, size_t wanted, size_t element) __attribute__((cold));

/* ---- arrays without a capacity ----------------------------------------------------------------- */

/* Returns the number of elements by which a full array of `count` elements grows: a power of two. */
static inline size_t common_vector_step(size_t count)
{
	const unsigned bits = 63 - (unsigned)__builtin_clzll(count | COMMON_VECTOR_FIRST);
	const size_t step = (size_t)1 << bits >> 3;

	return step < COMMON_VECTOR_FIRST ? COMMON_VECTOR_FIRST : step;
}

/* For common_vector_room: reallocates the array. */
bool common_vector_extend(void *array, size_t count, size_t element) __attribute__((cold));

/*
 * Makes room for one more element in *array (a pointer to a pointer), which holds `count` elements. The array must have
 * grown only by one element at a time, through this function. False without memory: nothing has changed then.
 */
static inline bool common_vector_room(void *array, size_t count, size_t element)
{
	return count & (common_vector_step(count) - 1) || common_vector_extend(array, count, element);
}

#endif
