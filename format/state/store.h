/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a state puts what is reported about images: all but the addresses, which few read again. What came last is
 * in memory, the rest in an unnamed temporary file.
 */
#ifndef FORMAT_STATE_STORE_H
#define FORMAT_STATE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"

#define FORMAT_STORE_GUESSES 1024 /* a power of two */

/* Zero-initialised is empty. */
struct format_store {
	struct ptl_bytes recent; /* what is behind the file's bytes */
	uint64_t filed;          /* bytes in the file */
	bool has_file;
	int fd;
	/* Equal bytes are often put one soon after the other: places plus one, by a hash. */
	struct {
		uint64_t hash, place;
	} guesses[FORMAT_STORE_GUESSES];
	uint8_t *window; /* bytes of the file that were read */
	uint64_t window_at;
	size_t window_size;
};

void format_store_free(struct format_store *store);
/* Bytes that it holds, those that nobody wants any more included. */
uint64_t format_store_size(const struct format_store *store);
/* Puts bytes in, or finds them there; *place names them. PTL_NO_MEMORY, PTL_SYSTEM: the file cannot be written. */
int format_store_put(struct format_store *store, const void *data, size_t size, uint64_t *place);
/* Replaces what out holds by the bytes at a place. PTL_NO_MEMORY, PTL_SYSTEM. */
int format_store_get(struct format_store *store, uint64_t place, struct ptl_bytes *out);

#endif
