/* SPDX-License-Identifier: BSD-2-Clause */
/* Blobs that the trace refers to but does not contain: see ptl_code_store. */
#ifndef FORMAT_READER_CODE_STORE_H
#define FORMAT_READER_CODE_STORE_H

#include <ptl/reader.h>

/* As ptl_blob_read and ptl_blob_read_into, from the store of a trace with a store. */
int format_code_store_read(const struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE], size_t limit,
			   uint8_t **data, size_t *size);
int format_code_store_read_into(const struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE], uint8_t *out,
				size_t room, size_t *size);
/*
 * Returns the number of blobs that a server failed to deliver, not counting blobs it does not have. *why: text of the
 * first failure. 0: no failures.
 */
uint64_t format_code_store_failures(const struct ptl_trace *trace, const char **why);

#endif
