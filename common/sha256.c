/* SPDX-License-Identifier: BSD-2-Clause */
/* SHA-256 over Nettle. */
#include "common/sha256.h"

#include <nettle/sha2.h>
#include <stdlib.h>

struct common_sha256 {
	struct sha256_ctx context;
};

struct common_sha256 *common_sha256_new(void)
{
	struct common_sha256 *hash = malloc(sizeof(*hash));

	if (hash)
		sha256_init(&hash->context);
	return hash;
}

void common_sha256_free(struct common_sha256 *hash)
{
	free(hash);
}

void common_sha256_add(struct common_sha256 *hash, const void *data, size_t size)
{
	sha256_update(&hash->context, size, data);
}

void common_sha256_finish(struct common_sha256 *hash, uint8_t digest[COMMON_SHA256_SIZE])
{
	sha256_digest(&hash->context, COMMON_SHA256_SIZE, digest);
}

void common_sha256_of(const void *data, size_t size, uint8_t digest[COMMON_SHA256_SIZE])
{
	struct common_sha256 hash;

	sha256_init(&hash.context);
	common_sha256_add(&hash, data, size);
	common_sha256_finish(&hash, digest);
}

void common_sha256_format(const uint8_t digest[COMMON_SHA256_SIZE], char text[COMMON_SHA256_TEXT_SIZE])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < COMMON_SHA256_SIZE; i++) {
		*text++ = digits[digest[i] >> 4];
		*text++ = digits[digest[i] & 15];
	}
	*text = 0;
}
