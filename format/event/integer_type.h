/* SPDX-License-Identifier: BSD-2-Clause */
/* The field type of an integer of a given size. */
#ifndef FORMAT_EVENT_INTEGER_TYPE_H
#define FORMAT_EVENT_INTEGER_TYPE_H

#include <ptl/event.h>

/* Returns the enum ptl_type of an integer of `size` bytes; 0: no such type. */
static inline uint8_t format_integer_type(size_t size, bool is_signed)
{
	switch (size) {
	case 1:
		return is_signed ? PTL_TYPE_I8 : PTL_TYPE_U8;
	case 2:
		return is_signed ? PTL_TYPE_I16 : PTL_TYPE_U16;
	case 4:
		return is_signed ? PTL_TYPE_I32 : PTL_TYPE_U32;
	case 8:
		return is_signed ? PTL_TYPE_I64 : PTL_TYPE_U64;
	default:
		return 0;
	}
}

#endif
