/* SPDX-License-Identifier: BSD-2-Clause */
/* Compression and decompression of one payload, with contexts that are kept for the next one. */
#ifndef FORMAT_CONTAINER_CODEC_H
#define FORMAT_CONTAINER_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ptl_bytes;
struct format_compressor;
struct format_decompressor;

/*
 * NULL without memory, or for a level that zstd does not have. Not for several threads at a time.
 */
struct format_compressor *format_compressor_new(int level);
void format_compressor_free(struct format_compressor *compressor);
/*
 * Appends data to out, compressed if that makes it smaller, else as it is; *codec says which.
 * splits (ascending offsets into data, may be NULL) are places where the statistics of the bytes
 * change: each part gets its own entropy table. PTL_NO_MEMORY.
 */
int format_compress(struct format_compressor *compressor, const uint8_t *data, size_t size, const size_t *splits,
		    size_t split_count, struct ptl_bytes *out, uint8_t *codec);

struct format_decompressor *format_decompressor_new(void);
void format_decompressor_free(struct format_decompressor *decompressor);
/*
 * Whether compressed data may become raw_size bytes, by what its frames say of their sizes (RFC 8878, 3.1.1.1.4) without
 * decompressing them: PTL_CORRUPT. *known: all say it.
 */
int format_frame_check(const uint8_t *data, size_t size, size_t raw_size, bool *known);
/* Fills exactly raw_size bytes of out, or fails with PTL_CORRUPT. */
int format_decompress(struct format_decompressor *decompressor, const uint8_t *data, size_t size, uint8_t *out,
		      size_t raw_size);

#endif
