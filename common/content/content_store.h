/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A folder of pieces of content, each in a file that is named by its SHA-256: FOLDER/ab/cdef..., lower-case hexadecimal, the
 * first two digits as a folder. sha256sum checks it, rsync and object stores copy it, and equal pieces are there once.
 */
#ifndef COMMON_CONTENT_CONTENT_STORE_H
#define COMMON_CONTENT_CONTENT_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/sha256.h"

/* Whether the folder has a file for this digest, and its size. */
bool common_content_has(const char *folder, const uint8_t digest[COMMON_SHA256_SIZE], uint64_t *size);
/* The file, open for reading, and its size; -1: there is none. What it has is not checked. */
int common_content_open(const char *folder, const uint8_t digest[COMMON_SHA256_SIZE], uint64_t *size);
/*
 * The bytes, into room bytes of the caller's: *size are used. They are checked: PTL_CORRUPT for others. PTL_NOT_FOUND;
 * PTL_NO_MEMORY for more than room; PTL_SYSTEM.
 */
int common_content_read(const char *folder, const uint8_t digest[COMMON_SHA256_SIZE], uint8_t *data, size_t room,
			size_t *size);
/*
 * Adds a piece unless it is there with this size; folders are made. Several programs may add at once: a file appears
 * whole. *added: it was not there. PTL_SYSTEM.
 */
int common_content_add(const char *folder, const uint8_t digest[COMMON_SHA256_SIZE], const void *data, size_t size,
		       bool *added);

#endif
