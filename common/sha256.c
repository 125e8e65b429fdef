/* SPDX-License-Identifier: BSD-2-Clause */
/* SHA-256 over Nettle. */
#include "common/sha256.h"

#include <nettle/sha2.h>
#include <stdlib.h>

struct ptl_sha256 {
	struct sha256_ctx context;
};

struct ptl_sha256 *ptl_sha256_new(void)
{
	struct ptl_sha256 *hash = malloc(sizeof(*hash));

	if (hash)
		sha256_init(&hash->context);
	return hash;
}

void ptl_sha256_free(struct ptl_sha256 *hash)
{
	free(hash);
}

void ptl_sha256_add(struct ptl_sha256 *hash, const void *data, size_t size)
{
	sha256_update(&hash->context, size, data);
}

void ptl_sha256_finish(struct ptl_sha256 *hash, uint8_t digest[PTL_SHA256_SIZE])
{
	sha256_digest(&hash->context, PTL_SHA256_SIZE, digest);
}

void ptl_sha256_of(const void *data, size_t size, uint8_t digest[PTL_SHA256_SIZE])
{
	struct ptl_sha256 hash;

	sha256_init(&hash.context);
	ptl_sha256_add(&hash, data, size);
	ptl_sha256_finish(&hash, digest);
}

void ptl_sha256_format(const uint8_t digest[PTL_SHA256_SIZE], char text[PTL_SHA256_TEXT_SIZE])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < PTL_SHA256_SIZE; i++) {
		*text++ = digits[digest[i] >> 4];
		*text++ = digits[digest[i] & 15];
	}
	*text = 0;
}
