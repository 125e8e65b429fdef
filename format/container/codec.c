/* SPDX-License-Identifier: BSD-2-Clause */
/* zstd for payloads: one frame per buffer, with block borders where the byte statistics change. */
#include "format/container/codec.h"

#include <stdlib.h>
#include <zstd.h>

#include "common/bytes.h"
#include "common/error.h"
#include "format/container/layout.h"

struct format_compressor {
	ZSTD_CCtx *context;
};

struct format_decompressor {
	ZSTD_DCtx *context;
};

struct format_compressor *format_compressor_new(int level)
{
	struct format_compressor *compressor = calloc(1, sizeof(*compressor));

	if (!compressor)
		return NULL;
	compressor->context = ZSTD_createCCtx();
	/*
	 * No zstd checksum, as a buffer has its own checksum. The frame includes the content size (zstd's default), so
	 * that copying a buffer can verify the size in the buffer header without decompression.
	 */
	if (!compressor->context ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(compressor->context, ZSTD_c_compressionLevel, level))) {
		format_compressor_free(compressor);
		return NULL;
	}
	return compressor;
}

void format_compressor_free(struct format_compressor *compressor)
{
	if (!compressor)
		return;
	ZSTD_freeCCtx(compressor->context);
	free(compressor);
}

static size_t compress_parts(ZSTD_CCtx *context, const uint8_t *data, size_t size, const size_t *splits,
			     size_t split_count, ZSTD_outBuffer *out)
{
	ZSTD_inBuffer in = {data, 0, 0};
	size_t result;

	ZSTD_CCtx_reset(context, ZSTD_reset_session_only);
	result = ZSTD_CCtx_setPledgedSrcSize(context, size);
	for (size_t i = 0; i < split_count && !ZSTD_isError(result); i++) {
		in.size = splits[i];
		do
			result = ZSTD_compressStream2(context, out, &in, ZSTD_e_flush);
		while (!ZSTD_isError(result) && result && out->pos < out->size);
	}
	if (ZSTD_isError(result))
		return result;
	in.size = size;
	return ZSTD_compressStream2(context, out, &in, ZSTD_e_end);
}

int format_compress(struct format_compressor *compressor, const uint8_t *data, size_t size, const size_t *splits,
		    size_t split_count, struct ptl_bytes *out, uint8_t *codec)
{
	const size_t before = out->size;
	uint8_t *place = common_bytes_grow(out, size);
	ZSTD_outBuffer output = {place, size, 0};

	if (!place)
		return common_fail_memory("a compressed buffer", size);
	/* Data that zstd fails on, or that does not shrink, is stored unchanged. */
	if (size && compress_parts(compressor->context, data, size, splits, split_count, &output) == 0) {
		*codec = FORMAT_CODEC_ZSTD;
		out->size = before + output.pos;
		return 0;
	}
	*codec = FORMAT_CODEC_RAW;
	if (size)
		memcpy(place, data, size);
	return 0;
}

struct format_decompressor *format_decompressor_new(void)
{
	struct format_decompressor *decompressor = calloc(1, sizeof(*decompressor));

	if (!decompressor)
		return NULL;
	decompressor->context = ZSTD_createDCtx();
	if (!decompressor->context) {
		free(decompressor);
		return NULL;
	}
	return decompressor;
}

void format_decompressor_free(struct format_decompressor *decompressor)
{
	if (!decompressor)
		return;
	ZSTD_freeDCtx(decompressor->context);
	free(decompressor);
}

int format_frame_check(const uint8_t *data, size_t size, size_t raw_size, bool *known)
{
	unsigned long long all = 0;

	*known = true;
	while (size) {
		const unsigned long long content = ZSTD_getFrameContentSize(data, size);
		const size_t frame = ZSTD_findFrameCompressedSize(data, size);

		if (content == ZSTD_CONTENTSIZE_ERROR || ZSTD_isError(frame))
			return common_fail(PTL_CORRUPT, "decompression fails: there is no whole frame of zstd");
		*known &= content != ZSTD_CONTENTSIZE_UNKNOWN;
		/* `all` stays at most raw_size, so the sum cannot overflow. */
		if (*known && content > raw_size - all)
			return common_fail(PTL_CORRUPT, "decompression gives more than %zu bytes", raw_size);
		all += *known ? content : 0;
		data += frame;
		size -= frame;
	}
	if (*known && all != raw_size)
		return common_fail(PTL_CORRUPT, "decompression gives %llu bytes instead of %zu", all, raw_size);
	return 0;
}

int format_decompress(struct format_decompressor *decompressor, const uint8_t *data, size_t size, uint8_t *out,
		      size_t raw_size)
{
	const size_t got = ZSTD_decompressDCtx(decompressor->context, out, raw_size, data, size);

	if (ZSTD_isError(got))
		return common_fail(PTL_CORRUPT, "decompression fails: %s", ZSTD_getErrorName(got));
	if (got != raw_size)
		return common_fail(PTL_CORRUPT, "decompression gives %zu bytes instead of %zu", got, raw_size);
	return 0;
}
