/* SPDX-License-Identifier: BSD-2-Clause */
/* The checksum of the trace file. */
#include <xxhash.h>

#include "format/container/layout.h"

uint64_t format_checksum(const void *data, size_t size)
{
	return XXH64(data, size, 0);
}
