/* SPDX-License-Identifier: BSD-2-Clause */
/* A growing byte vector, written by functions that encode event payloads and symbols. */
#ifndef PTL_BYTES_H
#define PTL_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A zero-initialised vector is empty. The first `size` bytes of `data` are the content. To empty the vector and keep
 * its memory, set size to 0. A failed allocation sets `failed`, and later writes are ignored; functions that write into
 * the vector then return PTL_NO_MEMORY.
 */
struct ptl_bytes {
	uint8_t *data;
	size_t size;
	size_t capacity;
	bool failed;
};

/* Frees `data`. The vector is empty and usable afterwards. */
void ptl_bytes_free(struct ptl_bytes *bytes);

#ifdef __cplusplus
}
#endif

#endif
