/* SPDX-License-Identifier: BSD-2-Clause */
/* Compression and decompression of one payload, with contexts that are kept for the next one. */
#ifndef PTL_FORMAT_CONTAINER_CODEC_H
#define PTL_FORMAT_CONTAINER_CODEC_H

#include <stddef.h>
#include <stdint.h>

struct ptl_bytes;
struct ptl_compressor;
struct ptl_decompressor;

/*
 * NULL without memory, or for a level that zstd does not have. Not for several threads at a time.
 */
struct ptl_compressor *ptl_compressor_new(int level);
void ptl_compressor_free(struct ptl_compressor *compressor);
/*
 * Appends data to out, compressed if that makes it smaller, else as it is; *codec says which.
 * splits (ascending offsets into data, may be NULL) are places where the statistics of the bytes
 * change: each part gets its own entropy table. PTL_NO_MEMORY.
 */
int ptl_compress(struct ptl_compressor *compressor, const uint8_t *data, size_t size,
		 const size_t *splits, size_t split_count, struct ptl_bytes *out, uint8_t *codec);

struct ptl_decompressor *ptl_decompressor_new(void);
void ptl_decompressor_free(struct ptl_decompressor *decompressor);
/* Fills exactly raw_size bytes of out, or fails with PTL_CORRUPT. */
int ptl_decompress(struct ptl_decompressor *decompressor, const uint8_t *data, size_t size,
		   uint8_t *out, size_t raw_size);

#endif
