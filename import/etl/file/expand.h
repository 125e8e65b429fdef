/* SPDX-License-Identifier: BSD-2-Clause */
/* The compressions of Windows' kernel, by [MS-XCA]. */
#ifndef IMPORT_ETL_FILE_EXPAND_H
#define IMPORT_ETL_FILE_EXPAND_H

#include <stddef.h>
#include <stdint.h>

/*
 * Each writes at most size bytes to `to`, however much more the input would make, and sets *made to how many there
 * are. PTL_CORRUPT: the input contradicts itself; what came before is there.
 */
int etl_expand_lznt1(const uint8_t *from, size_t from_size, uint8_t *to, size_t size, size_t *made);
int etl_expand_xpress(const uint8_t *from, size_t from_size, uint8_t *to, size_t size, size_t *made);
int etl_expand_huffman(const uint8_t *from, size_t from_size, uint8_t *to, size_t size, size_t *made);

/* By enum etl_compression. PTL_UNSUPPORTED: another one. */
int etl_expand(unsigned compression, const uint8_t *from, size_t from_size, uint8_t *to, size_t size, size_t *made);

#endif
