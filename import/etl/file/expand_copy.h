/* SPDX-License-Identifier: BSD-2-Clause */
/* Output buffer of decompression. */
#ifndef IMPORT_ETL_FILE_EXPAND_COPY_H
#define IMPORT_ETL_FILE_EXPAND_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct etl_target {
	uint8_t *to;
	size_t size;
	size_t at;
};

/* Copies `length` bytes from `distance` bytes back, up to `end`. distance is at most the number of written bytes. */
static inline void etl_copy(struct etl_target *target, size_t distance, size_t length, size_t end)
{
	uint8_t *to = target->to + target->at;
	const uint8_t *from = to - distance;

	if (length > end - target->at)
		length = end - target->at;
	target->at += length;
	if (distance >= length) {
		memcpy(to, from, length);
		return;
	}
	/* Source and target overlap: copy byte by byte. */
	for (size_t i = 0; i < length; i++)
		to[i] = from[i];
}

#endif
