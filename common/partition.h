/* SPDX-License-Identifier: BSD-2-Clause */
/* Binary search. */
#ifndef COMMON_PARTITION_H
#define COMMON_PARTITION_H

#include <stddef.h>

/*
 * Returns the number of the leading elements, of `count`, for which `condition` holds: an expression with the index
 * `at`. All elements that satisfy the condition must come first. `count` is evaluated once.
 */
#define COMMON_PARTITION(count, at, condition)                                                                         \
	__extension__({                                                                                                \
		size_t low_ = 0, high_ = (count);                                                                      \
		while (low_ < high_) {                                                                                 \
			const size_t at = low_ + (high_ - low_) / 2;                                                   \
			if (condition)                                                                                 \
				low_ = at + 1;                                                                         \
			else                                                                                           \
				high_ = at;                                                                            \
		}                                                                                                      \
		low_;                                                                                                  \
	})

#endif
