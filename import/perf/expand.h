/* SPDX-License-Identifier: BSD-2-Clause */
/* Decompresses records. All compressed records of a file form one zstd stream (perf record -z). */
#ifndef IMPORT_PERF_EXPAND_H
#define IMPORT_PERF_EXPAND_H

#include <stddef.h>
#include <stdint.h>

/* Zero-initialised: empty. */
struct perf_expand {
	void *stream; /* ZSTD_DStream */
	uint8_t *data;
	size_t start; /* offset of the first unconsumed byte */
	size_t end;
	size_t capacity;
};

void perf_expand_free(struct perf_expand *expand);

/*
 * Decompresses the next bytes of the stream. Returns PTL_CORRUPT; PTL_UNSUPPORTED for more data than perf can have
 * compressed (unbounded expansion); PTL_NO_MEMORY.
 */
int perf_expand_add(struct perf_expand *expand, const uint8_t *data, size_t size);

/* Returns the decompressed bytes that were not consumed; valid until the next perf_expand_add. */
const uint8_t *perf_expand_left(const struct perf_expand *expand, size_t *size);
void perf_expand_consume(struct perf_expand *expand, size_t size);

#endif
