/* SPDX-License-Identifier: BSD-2-Clause */
/* The 128-bit identity of a provider, in ETW's byte order. */
#ifndef PTL_GUID_H
#define PTL_GUID_H

#include <stdint.h>

#define PTL_GUID_TEXT_SIZE 37 /* 36 characters and a terminating zero */

/*
 * The 16 bytes as in memory on Windows: the first three groups of the text form are little-endian, the last two groups
 * are in text order.
 */
struct ptl_guid {
	uint8_t bytes[16];
};

/*
 * Initialises a constant from the groups of the text form: PTL_GUID(0x9e814aad, 0x3204, 0x11d2, 0x9a82,
 * 0x006008a86939).
 */
#define PTL_GUID(a, b, c, d, e)                                                                                        \
	{                                                                                                              \
		{                                                                                                      \
			(uint8_t)(a), (uint8_t)((a) >> 8), (uint8_t)((a) >> 16), (uint8_t)((a) >> 24), (uint8_t)(b),   \
				(uint8_t)((b) >> 8), (uint8_t)(c), (uint8_t)((c) >> 8), (uint8_t)((d) >> 8),           \
				(uint8_t)(d), (uint8_t)((uint64_t)(e) >> 40), (uint8_t)((uint64_t)(e) >> 32),          \
				(uint8_t)((uint64_t)(e) >> 24), (uint8_t)((uint64_t)(e) >> 16),                        \
				(uint8_t)((uint64_t)(e) >> 8), (uint8_t)(e)                                            \
		}                                                                                                      \
	}

#endif
