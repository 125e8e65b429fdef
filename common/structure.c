/* SPDX-License-Identifier: BSD-2-Clause */
#include "common/structure.h"

#include <stdint.h>
#include <string.h>

#include <ptl/error.h>

#include "common/error.h"

#define STRUCTURE_MAX 4096u /* a larger size is garbage: the caller did not set `size` */

int common_structure_take(const char *name, const void *given, void *taken, size_t size)
{
	const uint8_t *bytes = given;
	size_t given_size;

	memcpy(&given_size, given, sizeof(given_size));
	if (given_size < sizeof(given_size) || given_size > STRUCTURE_MAX)
		return common_fail(PTL_MISUSE, "struct %s: size is %zu; set it to sizeof(struct %s)", name, given_size,
				   name);
	for (size_t i = size; i < given_size; i++) {
		if (bytes[i])
			return common_fail(PTL_UNSUPPORTED,
					   "struct %s: the caller uses a member at offset %zu that this version of PTL "
					   "does not know; a newer version may",
					   name, i);
	}
	memset(taken, 0, size);
	memcpy(taken, given, given_size < size ? given_size : size);
	return 0;
}

int common_structure_take_optional(const char *name, const void *given, void *taken, size_t size)
{
	if (given)
		return common_structure_take(name, given, taken, size);
	memset(taken, 0, size);
	return 0;
}
