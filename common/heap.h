/* SPDX-License-Identifier: BSD-2-Clause */
/* Binary heaps: arrays whose first element precedes all others. */
#ifndef COMMON_HEAP_H
#define COMMON_HEAP_H

#include <stddef.h>

/*
 * Defines the functions of a heap of elements of `type`, ordered by before(const type *, const type *). The array
 * belongs to the caller. To add, the caller appends an element and lets the element rise; after changing or replacing
 * an element, the caller lets the element sink. The functions move elements, and the compiler can inline before().
 *
 *	PREFIX_rise(heap, at)          moves the element at `at` toward the front to its place
 *	PREFIX_sink(heap, count, at)   moves the element toward the end; nothing happens unless at < count
 *	PREFIX_order(heap, count)      makes a heap of elements in any order
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
