/* SPDX-License-Identifier: BSD-2-Clause */
/* What decompressions write into. */
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

/* Repeats what was written distance bytes before, which is not more than there is, and writes not past end. */
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
	/* What is copied may be what has just been written. */
	for (size_t i = 0; i < length; i++)
		to[i] = from[i];
}

#endif
