/* SPDX-License-Identifier: BSD-2-Clause */
/* Hash that identifies an input in provenance: SHA-256, or XXH128, which takes a tenth of the time. */
#ifndef FORMAT_METADATA_INPUT_HASH_H
#define FORMAT_METADATA_INPUT_HASH_H

#include <stddef.h>

#include <ptl/trace.h>

#include "common/sha256.h"

struct format_input_hash; /* a hash in progress */

/*
 * Creates a hash of no bytes; NULL without memory. With PTL_HASH_NONE, no hash is computed. Free with
 * format_input_hash_free.
 */
struct format_input_hash *format_input_hash_new(enum ptl_hash_kind kind);
void format_input_hash_free(struct format_input_hash *hash); /* NULL is allowed */
void format_input_hash_add(struct format_input_hash *hash, const void *data, size_t size);
/* Stores the hash in input->hash_kind and input->hash. No bytes can be added afterwards. */
void format_input_hash_finish(struct format_input_hash *hash, struct ptl_provenance_input *input);

/* Returns the bytes of a hash of this kind: 32, 16, or 0. */
size_t format_input_hash_size(enum ptl_hash_kind kind);
/*
 * Returns the kind's name, "sha256" or "xxh128", and formats the hash as printed by sha256sum and xxh128sum. Without a
 * hash, returns NULL and sets the text to "".
 */
const char *format_input_hash_format(const struct ptl_provenance_input *input, char text[COMMON_SHA256_TEXT_SIZE]);

#endif
