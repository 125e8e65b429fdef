/* SPDX-License-Identifier: BSD-2-Clause */
/* The hash by which provenance names an input: SHA-256, or XXH128, which costs a tenth of it. */
#ifndef FORMAT_METADATA_INPUT_HASH_H
#define FORMAT_METADATA_INPUT_HASH_H

#include <stddef.h>

#include <ptl/trace.h>

#include "common/sha256.h"

struct format_input_hash; /* a hash under way */

/* A new hash of nothing; NULL without memory. Of PTL_HASH_NONE nothing comes. Freed with format_input_hash_free. */
struct format_input_hash *format_input_hash_new(enum ptl_hash_kind kind);
void format_input_hash_free(struct format_input_hash *hash); /* NULL is allowed */
void format_input_hash_add(struct format_input_hash *hash, const void *data, size_t size);
/* Puts what was hashed into input->hash_kind and input->hash; nothing can be added any more. */
void format_input_hash_finish(struct format_input_hash *hash, struct ptl_provenance_input *input);

/* Bytes of a hash of this kind: 32, 16, or 0. */
size_t format_input_hash_size(enum ptl_hash_kind kind);
/* The kind's name, "sha256" or "xxh128", and the hash as sha256sum and xxh128sum print it; NULL and "": there is none. */
const char *format_input_hash_format(const struct ptl_provenance_input *input, char text[COMMON_SHA256_TEXT_SIZE]);

#endif
