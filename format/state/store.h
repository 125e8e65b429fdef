/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Store for the reported properties of images, except addresses, which are rarely read again. Recent bytes are in
 * memory, older bytes in an unnamed temporary file.
 */
#ifndef FORMAT_STATE_STORE_H
#define FORMAT_STATE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"

#define FORMAT_STORE_GUESSES 1024 /* a power of two */

/* A zero-initialised store is empty. */
struct format_store {
	struct ptl_bytes recent; /* bytes after those in the file */
	uint64_t filed;          /* bytes in the file */
	bool has_file;
	int fd;
	/*
	 * Cache by hash of recent entries, as equal bytes often follow each other; place is the entry's place plus one.
	 */
	struct {
		uint64_t hash, place;
	} guesses[FORMAT_STORE_GUESSES];
	uint8_t *window; /* bytes read from the file */
	uint64_t window_at;
	size_t window_size;
};

void format_store_free(struct format_store *store);
/* Returns the bytes in the store, including unused entries. */
uint64_t format_store_size(const struct format_store *store);
/*
 * Stores bytes, or finds equal recent bytes; *place: their place. PTL_NO_MEMORY; PTL_SYSTEM: the file cannot be
 * written.
 */
int format_store_put(struct format_store *store, const void *data, size_t size, uint64_t *place);
/* Replaces the content of `out` by the entry at a place. PTL_NO_MEMORY, PTL_SYSTEM. */
int format_store_get(struct format_store *store, uint64_t place, struct ptl_bytes *out);

#endif
