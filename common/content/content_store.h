/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A content store: a folder of pieces of content, each in a file named by its SHA-256: FOLDER/ab/cdef..., lower-case
 * hexadecimal, the first two digits as a folder. sha256sum can check the files, rsync and object stores can copy them,
 * and equal pieces are stored once.
 */
#ifndef COMMON_CONTENT_CONTENT_STORE_H
#define COMMON_CONTENT_CONTENT_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/sha256.h"

/* Whether the folder has a file for this digest. Sets *size to its size in bytes. */
bool common_content_has(const char *folder, const uint8_t digest[COMMON_SHA256_SIZE], uint64_t *size);
/* Opens the file of the digest for reading and sets *size; -1 if not found. The content is not checked. */
int common_content_open(const char *folder, const uint8_t digest[COMMON_SHA256_SIZE], uint64_t *size);
/*
 * Reads a piece into the caller's buffer of `room` bytes and sets *size. PTL_CORRUPT: the content does not match the
 * digest. PTL_NOT_FOUND; PTL_NO_MEMORY if the piece is larger than `room`; PTL_SYSTEM.
 */
int common_content_read(const char *folder, const uint8_t digest[COMMON_SHA256_SIZE], uint8_t *data, size_t room,
			size_t *size);
/*
 * Adds a piece unless the folder has a file of this digest and size. Creates folders. Several programs may add at once,
 * as files appear whole. *added: whether the piece was new. PTL_SYSTEM.
 */
int common_content_add(const char *folder, const uint8_t digest[COMMON_SHA256_SIZE], const void *data, size_t size,
		       bool *added);

#endif
