/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes tokens: letters and digits of a keyed hash of a text. */
#include "common/error.h"
#include "common/sha256.h"
#include "relog/redact/parts.h"

#define BLOCK 64u /* block size of SHA-256 */
#define TOKEN 11u

/* HMAC-SHA256, RFC 2104, with a key of 32 bytes. */
static int mac(const struct relog_redactor *redactor, const void *data, size_t size, uint8_t digest[COMMON_SHA256_SIZE])
{
	struct common_sha256 *hash = common_sha256_new();
	uint8_t pad[BLOCK];

	if (!hash)
		return common_fail_memory("a hash", 0);
	for (size_t i = 0; i < BLOCK; i++)
		pad[i] = (uint8_t)((i < sizeof(redactor->key) ? redactor->key[i] : 0) ^ 0x36);
	common_sha256_add(hash, pad, BLOCK);
	common_sha256_add(hash, data, size);
	common_sha256_finish(hash, digest);
	for (size_t i = 0; i < BLOCK; i++)
		pad[i] ^= 0x36 ^ 0x5c;
	common_sha256_add(hash, pad, BLOCK);
	common_sha256_add(hash, digest, COMMON_SHA256_SIZE);
	common_sha256_finish(hash, digest);
	common_sha256_free(hash);
	return 0;
}

int relog_token_fill(const struct relog_redactor *redactor, const void *data, size_t size, char *token, size_t length)
{
	static const char alphabet[] = "abcdefghijkmnpqrstuvwxyz23456789";
	uint8_t digest[COMMON_SHA256_SIZE];
	const int status = mac(redactor, data, size, digest);

	for (size_t i = 0; i < length && !status; i++)
		token[i] = i ? alphabet[digest[(i - 1) % COMMON_SHA256_SIZE] % 32] : 'x';
	return status;
}

int relog_token_write(const struct relog_redactor *redactor, const char *text, size_t size, struct ptl_bytes *out)
{
	char token[TOKEN];
	const int status = relog_token_fill(redactor, text, size, token, TOKEN);

	if (!status)
		common_write_bytes(out, token, TOKEN);
	return status;
}
