/* SPDX-License-Identifier: BSD-2-Clause */
/* SHA-256 over libcrypto's digest interface. */
#include "common/sha256.h"

#include <openssl/evp.h>
#include <stdlib.h>

#include "common/error.h"

struct ptl_sha256 {
	EVP_MD_CTX *context;
};

/* A digest that was started allocates nothing more; a refusal would be our own bug. */
static void must(int success)
{
	if (!success)
		abort();
}

struct ptl_sha256 *ptl_sha256_new(void)
{
	struct ptl_sha256 *hash = malloc(sizeof(*hash));

	if (!hash)
		return NULL;
	hash->context = EVP_MD_CTX_new();
	if (!hash->context || !EVP_DigestInit_ex(hash->context, EVP_sha256(), NULL)) {
		ptl_sha256_free(hash);
		return NULL;
	}
	return hash;
}

void ptl_sha256_free(struct ptl_sha256 *hash)
{
	if (!hash)
		return;
	EVP_MD_CTX_free(hash->context);
	free(hash);
}

void ptl_sha256_add(struct ptl_sha256 *hash, const void *data, size_t size)
{
	must(EVP_DigestUpdate(hash->context, data, size));
}

void ptl_sha256_finish(struct ptl_sha256 *hash, uint8_t digest[PTL_SHA256_SIZE])
{
	must(EVP_DigestFinal_ex(hash->context, digest, NULL));
	must(EVP_DigestInit_ex(hash->context, NULL, NULL));
}

int ptl_sha256_of(const void *data, size_t size, uint8_t digest[PTL_SHA256_SIZE])
{
	if (!EVP_Digest(data, size, digest, NULL, EVP_sha256(), NULL))
		return ptl_fail(PTL_NO_MEMORY, "libcrypto cannot start a SHA-256");
	return 0;
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
