/* SPDX-License-Identifier: BSD-2-Clause */
/* Times in another clock. */
#ifndef COMMON_SHIFT_TIME_H
#define COMMON_SHIFT_TIME_H

#include <stdint.h>

/* Returns time + shift; the first or the last time if 64 bits do not hold the sum. */
static inline uint64_t common_shift_time(uint64_t time, int64_t shift)
{
	uint64_t shifted;

	if (!__builtin_add_overflow(time, shift, &shifted))
		return shifted;
	return shift < 0 ? 0 : UINT64_MAX;
}

#endif
