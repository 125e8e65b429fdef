/* SPDX-License-Identifier: BSD-2-Clause */
/* Compresses and decompresses payloads, with reusable contexts. */
#ifndef FORMAT_CONTAINER_CODEC_H
#define FORMAT_CONTAINER_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ptl_bytes;
struct format_compressor;
struct format_decompressor;

/* Returns NULL without memory, or if zstd does not support the level. A compressor is for one thread at a time. */
struct format_compressor *format_compressor_new(int level);
void format_compressor_free(struct format_compressor *compressor);
/*
 * Appends `data` to `out`, compressed if compression makes the data smaller, else unchanged. *codec: the codec used.
 * splits: ascending offsets into `data` at which byte statistics change (may be NULL); each part gets its own entropy
 * table. PTL_NO_MEMORY.
 */
int format_compress(struct format_compressor *compressor, const uint8_t *data, size_t size, const size_t *splits,
		    size_t split_count, struct ptl_bytes *out, uint8_t *codec);

struct format_decompressor *format_decompressor_new(void);
void format_decompressor_free(struct format_decompressor *decompressor);
/*
 * Checks, by the content sizes in the frame headers (RFC 8878, 3.1.1.1.4) and without decompression, that compressed
 * data can yield raw_size bytes: else PTL_CORRUPT. *known: all frames state their size.
 */
int format_frame_check(const uint8_t *data, size_t size, size_t raw_size, bool *known);
/* Decompresses exactly raw_size bytes to `out`; else PTL_CORRUPT. */
int format_decompress(struct format_decompressor *decompressor, const uint8_t *data, size_t size, uint8_t *out,
		      size_t raw_size);

#endif
