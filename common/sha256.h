/* SPDX-License-Identifier: BSD-2-Clause */
/* SHA-256 (FIPS 180-4), from Nettle, which uses the CPU's own instructions. */
#ifndef PTL_COMMON_SHA256_H
#define PTL_COMMON_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define PTL_SHA256_SIZE 32
#define PTL_SHA256_TEXT_SIZE 65

struct ptl_sha256; /* a hash under way */

/* A new hash of nothing; NULL without memory. Freed with ptl_sha256_free. */
struct ptl_sha256 *ptl_sha256_new(void);
void ptl_sha256_free(struct ptl_sha256 *hash);
void ptl_sha256_add(struct ptl_sha256 *hash, const void *data, size_t size);
/* Gives the digest of all added bytes and starts anew. */
void ptl_sha256_finish(struct ptl_sha256 *hash, uint8_t digest[PTL_SHA256_SIZE]);

/* The digest of one piece of memory. */
void ptl_sha256_of(const void *data, size_t size, uint8_t digest[PTL_SHA256_SIZE]);

/* Lower-case hexadecimal and a zero. */
void ptl_sha256_format(const uint8_t digest[PTL_SHA256_SIZE], char text[PTL_SHA256_TEXT_SIZE]);

#endif
