/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that grows as functions write into it: payloads of events, encoded symbols. */
#ifndef PTL_BYTES_H
#define PTL_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Zero-initialised is empty. The first `size` bytes of data are what was written; to empty it and keep its memory, set
 * size to 0. An allocation that fails sets `failed`, and later writes are ignored: functions that write into it return
 * PTL_NO_MEMORY then.
 */
struct ptl_bytes {
	uint8_t *data;
	size_t size;
	size_t capacity;
	bool failed;
};

/* Frees data, and leaves the structure empty and usable. */
void ptl_bytes_free(struct ptl_bytes *bytes);

#ifdef __cplusplus
}
#endif

#endif
