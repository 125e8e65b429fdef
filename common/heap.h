/* SPDX-License-Identifier: BSD-2-Clause */
/* Binary heaps: arrays whose first element comes before all others. */
#ifndef COMMON_HEAP_H
#define COMMON_HEAP_H

#include <stddef.h>

/*
 * Defines functions of a heap of elements of `type`, of which before(const type *, const type *) gives the order. The
 * array belongs to the caller, who adds an element behind the last one and then lets it rise, or changes or replaces one
 * and lets it sink. Elements are moved, and compared where the compiler can see before().
 *
 *   PREFIX_rise(heap, at)         moves the element at `at` forward to where it belongs
 *   PREFIX_sink(heap, count, at)  moves it backward; nothing happens where `at` is not below count
 *   PREFIX_order(heap, count)     makes a heap of elements in any order
 */
#define COMMON_HEAP(prefix, type, before)                                                                              \
	static inline __attribute__((unused)) void prefix##_rise(type *heap, size_t at)                                \
	{                                                                                                              \
		const type element = heap[at];                                                                         \
                                                                                                                       \
		for (; at && before(&element, &heap[(at - 1) / 2]); at = (at - 1) / 2)                                 \
			heap[at] = heap[(at - 1) / 2];                                                                 \
		heap[at] = element;                                                                                    \
	}                                                                                                              \
                                                                                                                       \
	static inline __attribute__((unused)) void prefix##_sink(type *heap, size_t count, size_t at)                  \
	{                                                                                                              \
		if (at >= count)                                                                                       \
			return;                                                                                        \
		const type element = heap[at];                                                                         \
                                                                                                                       \
		for (size_t child; (child = 2 * at + 1) < count; at = child) {                                         \
			if (child + 1 < count && before(&heap[child + 1], &heap[child]))                               \
				child++;                                                                               \
			if (!before(&heap[child], &element))                                                           \
				break;                                                                                 \
			heap[at] = heap[child];                                                                        \
		}                                                                                                      \
		heap[at] = element;                                                                                    \
	}                                                                                                              \
                                                                                                                       \
	static inline __attribute__((unused)) void prefix##_order(type *heap, size_t count)                            \
	{                                                                                                              \
		for (size_t at = count / 2; at-- > 0;)                                                                 \
			prefix##_sink(heap, count, at);                                                                \
	}

#endif
