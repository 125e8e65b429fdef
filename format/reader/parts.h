/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions for the writer, the relogger and checks to access an open trace, besides ptl/reader.h: its buffers as
 * stored in the file.
 */
#ifndef FORMAT_READER_PARTS_H
#define FORMAT_READER_PARTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/reader.h>

/* ---- buffers ----------------------------------------------------------------------------------------- */

/* A buffer of the file, other than an INDEX buffer. */
struct format_entry {
	struct ptl_buffer buffer;
	uint64_t checksum; /* of the payload */
	uint32_t side_size;
	bool usable;   /* this version can decode the payload */
	bool reported; /* the damage list has the buffer's damage; protected by damage_lock */
};

/* Returns the buffer with this number, as for ptl_buffer_at, or NULL. */
struct format_entry *format_trace_entry(struct ptl_trace *trace, size_t i);
/* Reads exactly `size` bytes at a file offset: PTL_TRUNCATED, PTL_SYSTEM. */
int format_trace_read(const struct ptl_trace *trace, void *data, size_t size, uint64_t offset);
/* Whether the file was written by a newer minor version than this version. */
bool format_trace_is_newer(const struct ptl_trace *trace);

/* Limits the bytes of decompressed buffers that the trace caches from now on, for several traces that share memory. */
void format_trace_limit_cache(struct ptl_trace *trace, size_t bytes);

/* Reads, verifies and decompresses a payload into `out`, of raw_size bytes. PTL_CORRUPT, PTL_TRUNCATED, ... */
int format_payload_load(struct ptl_trace *trace, const struct format_entry *entry, uint8_t *out);
/* Checks that the buffer's raw size does not exceed the limit for expansion: PTL_CORRUPT. */
int format_expansion_check(const struct ptl_trace *trace, const struct format_entry *entry);

/*
 * If the buffers were taken from the index: compares header and side area of each buffer with those in the file, and
 * adds differences to the damage list. A reader uses only the copies in the index, so only this function finds such
 * differences. PTL_SYSTEM, PTL_NO_MEMORY.
 */
int format_index_compare(struct ptl_trace *trace);

/* ---- streams, by number ------------------------------------------------------------------------------ */

/* Returns the number of the stream with this id; ptl_stream_count if not found. */
size_t format_stream_number(const struct ptl_trace *trace, uint32_t id);
/* Returns the numbers of the stream's buffers, in order. */
const uint32_t *format_stream_buffers(const struct ptl_trace *trace, size_t stream, size_t *count);
/* Returns the PSBs of the stream that are known without a search. */
const struct ptl_psb *format_stream_psbs(const struct ptl_trace *trace, size_t stream, size_t *count);

/* ---- blobs, by number -------------------------------------------------------------------------------- */

/* Whether the blob belongs to an attachment of the trace. */
bool format_is_attached(const struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE]);

struct format_blob_piece {
	uint32_t entry;
	uint32_t from;   /* offset in the payload */
	uint64_t offset; /* offset in the blob */
	uint64_t length;
};

/* Walks the pieces of a blob in no particular order: start with *at = 0; false at the end. */
bool format_blob_piece_of(const struct ptl_trace *trace, size_t blob, uint32_t *at, struct format_blob_piece *piece);
/* Verifies that a blob is complete, without loading the whole blob into memory: 0, PTL_CORRUPT, ... */
int format_blob_verify(struct ptl_trace *trace, size_t blob);

/* ---- damage ------------------------------------------------------------------------------------------ */

/* Adds an entry to the damage list. Without memory, the entry is dropped. */
void format_damage_add(struct ptl_trace *trace, uint64_t offset, uint64_t size, int status, uint32_t stream,
		       const char *format, ...) __attribute__((format(printf, 6, 7)));
/* Whether a status means damage: the damaged part is listed and skipped, and reading continues. */
static inline bool format_is_damage(int status)
{
	return status == PTL_CORRUPT || status == PTL_TRUNCATED || status == PTL_UNSUPPORTED;
}

/*
 * Handles a buffer that could not be read; the cause is in the error chain. If the status means damage, adds the buffer
 * to the damage list. Adds the buffer's place to the chain. Returns `status`.
 */
int format_damage_buffer(struct ptl_trace *trace, struct format_entry *entry, int status);
/* Returns PTL_NO_MEMORY if the damage list is incomplete because the memory budget is exhausted. */
int format_damage_check(struct ptl_trace *trace);

/* ---- sources of bytes -------------------------------------------------------------------------------- */

/*
 * Opens a file, or standard input for "-". Returns the descriptor, which the caller owns, or PTL_SYSTEM. *name: for
 * messages.
 */
int format_source_open(const char *path, const char **name);

/*
 * Finds the file's size. Copies a pipe to a temporary file, which replaces *fd. PTL_CANCELLED if *cancelled (may be
 * NULL) becomes true; checked after each read.
 */
int format_source_prepare(int *fd, const atomic_bool *cancelled, uint64_t *size);

#endif
