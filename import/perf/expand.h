/* SPDX-License-Identifier: BSD-2-Clause */
/* Records that perf compressed: one zstd stream over all compressed records of a file (perf record -z). */
#ifndef IMPORT_PERF_EXPAND_H
#define IMPORT_PERF_EXPAND_H

#include <stddef.h>
#include <stdint.h>

/* Zero-initialised is empty. */
struct perf_expand {
	void *stream; /* ZSTD_DStream */
	uint8_t *data;
	size_t start; /* of what has not been consumed */
	size_t end;
	size_t capacity;
};

void perf_expand_free(struct perf_expand *expand);

/*
 * Decompresses the next bytes of the stream behind what is left. PTL_CORRUPT; PTL_UNSUPPORTED for more than perf
 * can have put in (an expansion without bound); PTL_NO_MEMORY.
 */
int perf_expand_add(struct perf_expand *expand, const uint8_t *data, size_t size);

/* What has been decompressed and not consumed; valid until the next call of perf_expand_add. */
const uint8_t *perf_expand_left(const struct perf_expand *expand, size_t *size);
void perf_expand_consume(struct perf_expand *expand, size_t size);

#endif
