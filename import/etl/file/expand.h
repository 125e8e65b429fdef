/* SPDX-License-Identifier: BSD-2-Clause */
/* Decompression of the formats of Windows' kernel, by [MS-XCA]. */
#ifndef IMPORT_ETL_FILE_EXPAND_H
#define IMPORT_ETL_FILE_EXPAND_H

#include <stddef.h>
#include <stdint.h>

/*
 * Each function writes at most `size` bytes to `to`, even if the input has more. *made: bytes written. Returns
 * PTL_CORRUPT for invalid input; the bytes before are written.
 */
int etl_expand_lznt1(const uint8_t *from, size_t from_size, uint8_t *to, size_t size, size_t *made);
int etl_expand_xpress(const uint8_t *from, size_t from_size, uint8_t *to, size_t size, size_t *made);
int etl_expand_huffman(const uint8_t *from, size_t from_size, uint8_t *to, size_t size, size_t *made);

/* Decompresses by enum etl_compression. Returns PTL_UNSUPPORTED for other values. */
int etl_expand(unsigned compression, const uint8_t *from, size_t from_size, uint8_t *to, size_t size, size_t *made);

#endif
