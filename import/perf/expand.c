/* SPDX-License-Identifier: BSD-2-Clause */
/* Decompresses records of perf record -z. */
#include "import/perf/expand.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "common/error.h"
#include "common/vector.h"

/* perf compresses at most the contents of its ring buffer: 512 KiB by default, at most 64 MiB. */
#define LEFT_MAX ((size_t)64 << 20)
/* Limit of the zstd window, which bounds memory. */
#define WINDOW_LOG_MAX 24

void perf_expand_free(struct perf_expand *expand)
{
	ZSTD_freeDStream(expand->stream);
	free(expand->data);
	*expand = (struct perf_expand){0};
}

static int start_expansion(struct perf_expand *expand)
{
	ZSTD_DStream *stream = ZSTD_createDStream();

	if (!stream)
		return common_fail_memory("a decompressor", 0);
	ZSTD_initDStream(stream);
	ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	expand->stream = stream;
	return 0;
}

/* Moves remaining bytes to the front, and makes room for more. */
static int make_window_room(struct perf_expand *expand)
{
	const size_t more = ZSTD_DStreamOutSize();

	if (expand->start) {
		memmove(expand->data, expand->data + expand->start, expand->end - expand->start);
		expand->end -= expand->start;
		expand->start = 0;
	}
	if (expand->capacity - expand->end >= more)
		return 0;
	if (expand->end > LEFT_MAX)
		return common_fail(PTL_UNSUPPORTED, "a compressed record expands to more than %zu bytes", LEFT_MAX);

	return COMMON_VECTOR_RESERVE(expand->data, expand->capacity, expand->end + more, "decompressed records");
}

int perf_expand_add(struct perf_expand *expand, const uint8_t *data, size_t size)
{
	ZSTD_inBuffer in = {data, size, 0};
	bool full = false;
	int status = expand->stream ? 0 : start_expansion(expand);

	/* A full output buffer may mean that the decompressor holds more bytes. */
	while (!status && (in.pos < in.size || full)) {
		ZSTD_outBuffer out;
		size_t result;

		status = make_window_room(expand);
		if (status)
			break;
		out = (ZSTD_outBuffer){expand->data, expand->capacity, expand->end};
		result = ZSTD_decompressStream(expand->stream, &out, &in);
		if (ZSTD_isError(result))
			return common_fail(PTL_CORRUPT, "compressed records cannot be decompressed: %s",
					   ZSTD_getErrorName(result));
		full = out.pos == out.size;
		expand->end = out.pos;
	}
	return status;
}

const uint8_t *perf_expand_left(const struct perf_expand *expand, size_t *size)
{
	*size = expand->end - expand->start;
	return expand->data ? expand->data + expand->start : NULL;
}

void perf_expand_consume(struct perf_expand *expand, size_t size)
{
	expand->start += size;
}
