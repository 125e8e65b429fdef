/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/metadata/input_hash.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct format_input_hash {
	enum ptl_hash_kind kind;
	struct common_sha256 *sha256;
	XXH3_state_t *xxh128;
};

struct format_input_hash *format_input_hash_new(enum ptl_hash_kind kind)
{
	struct format_input_hash *hash = calloc(1, sizeof(*hash));

	if (!hash)
		return NULL;
	hash->kind = kind;
	if (kind == PTL_HASH_SHA256)
		hash->sha256 = common_sha256_new();
	if (kind == PTL_HASH_XXH128)
		hash->xxh128 = XXH3_createState();
	if ((kind == PTL_HASH_SHA256 && !hash->sha256) || (kind == PTL_HASH_XXH128 && !hash->xxh128)) {
		format_input_hash_free(hash);
		return NULL;
	}
	if (hash->xxh128)
		XXH3_128bits_reset(hash->xxh128);
	return hash;
}

void format_input_hash_free(struct format_input_hash *hash)
{
	if (!hash)
		return;
	common_sha256_free(hash->sha256);
	XXH3_freeState(hash->xxh128);
	free(hash);
}

void format_input_hash_add(struct format_input_hash *hash, const void *data, size_t size)
{
	if (hash->sha256)
		common_sha256_add(hash->sha256, data, size);
	if (hash->xxh128)
		XXH3_128bits_update(hash->xxh128, data, size);
}

void format_input_hash_finish(struct format_input_hash *hash, struct ptl_provenance_input *input)
{
	input->hash_kind = hash->kind;
	memset(input->hash, 0, sizeof(input->hash));
	if (hash->sha256)
		common_sha256_finish(hash->sha256, input->hash);
	if (hash->xxh128) {
		XXH128_canonical_t canonical;

		XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(hash->xxh128));
		memcpy(input->hash, canonical.digest, sizeof(canonical.digest));
	}
}

size_t format_input_hash_size(enum ptl_hash_kind kind)
{
	return kind == PTL_HASH_SHA256 ? 32 : kind == PTL_HASH_XXH128 ? 16 : 0;
}

const char *format_input_hash_format(const struct ptl_provenance_input *input, char text[COMMON_SHA256_TEXT_SIZE])
{
	common_sha256_format(input->hash, text);
	text[2 * format_input_hash_size(input->hash_kind)] = '\0';
	return input->hash_kind == PTL_HASH_SHA256 ? "sha256" : input->hash_kind == PTL_HASH_XXH128 ? "xxh128" : NULL;
}
