/* SPDX-License-Identifier: BSD-2-Clause */
/* SHA-256 (FIPS 180-4), from Nettle, which uses the CPU's own instructions. */
#ifndef COMMON_SHA256_H
#define COMMON_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define COMMON_SHA256_SIZE 32
#define COMMON_SHA256_TEXT_SIZE 65

struct common_sha256; /* a hash in progress */

/* Creates a hash of no bytes; NULL without memory. Free with common_sha256_free. */
struct common_sha256 *common_sha256_new(void);
void common_sha256_free(struct common_sha256 *hash);
void common_sha256_add(struct common_sha256 *hash, const void *data, size_t size);
/* Returns the digest of all added bytes and restarts the hash. */
void common_sha256_finish(struct common_sha256 *hash, uint8_t digest[COMMON_SHA256_SIZE]);

/* Computes the digest of `size` bytes. */
void common_sha256_of(const void *data, size_t size, uint8_t digest[COMMON_SHA256_SIZE]);

/* Formats the digest as lower-case hexadecimal, with a terminating zero. */
void common_sha256_format(const uint8_t digest[COMMON_SHA256_SIZE], char text[COMMON_SHA256_TEXT_SIZE]);

#endif
