/* SPDX-License-Identifier: BSD-2-Clause */
/* Blobs that the trace refers to and does not hold, for readers of blobs: see ptl_code_store. */
#ifndef FORMAT_READER_CODE_STORE_H
#define FORMAT_READER_CODE_STORE_H

#include <ptl/reader.h>

/* Whether a blob would come from a store: there is one, and the trace does not have it. */
bool format_code_store_serves(const struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE]);
/* As ptl_blob_read and ptl_blob_read_into, of a trace with a store. */
int format_code_store_read(const struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE], size_t limit,
			   uint8_t **data, size_t *size);
int format_code_store_read_into(const struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE], uint8_t *out,
				size_t room, size_t *size);
/* How many blobs a server failed to give, but for those that it does not have; *why, of the first one. 0: none. */
uint64_t format_code_store_failures(const struct ptl_trace *trace, const char **why);

#endif
