/* SPDX-License-Identifier: BSD-2-Clause */
/* What the writer, the relogger and checks need of an open trace besides ptl/reader.h: its buffers as they lie in the file. */
#ifndef FORMAT_READER_PARTS_H
#define FORMAT_READER_PARTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/reader.h>

/* ---- buffers ----------------------------------------------------------------------------------------- */

/* A buffer of the file, INDEX buffers excepted. */
struct format_entry {
	struct ptl_buffer buffer;
	uint64_t checksum; /* of the payload */
	uint32_t side_size;
	bool usable;   /* the payload can be decoded by this version */
	bool reported; /* its damage is on the list; under damage_lock */
};

/* The buffer of this number, as ptl_buffer_at numbers them; NULL: there is none. */
struct format_entry *format_trace_entry(struct ptl_trace *trace, size_t i);
/* Exactly size bytes of the file at offset: PTL_TRUNCATED, PTL_SYSTEM. */
int format_trace_read(const struct ptl_trace *trace, void *data, size_t size, uint64_t offset);
/* Whether a newer minor version than this one wrote the file. */
bool format_trace_is_newer(const struct ptl_trace *trace);

/* Bytes of decompressed buffers that the trace may keep from now on, where several traces share what memory there is. */
void format_trace_limit_cache(struct ptl_trace *trace, size_t bytes);

/* Reads, checks and decompresses a payload into raw_size bytes. PTL_CORRUPT, PTL_TRUNCATED, ... */
int format_payload_load(struct ptl_trace *trace, const struct format_entry *entry, uint8_t *out);
/* Whether a buffer may be as large as it says: PTL_CORRUPT. */
int format_expansion_check(const struct ptl_trace *trace, const struct format_entry *entry);

/*
 * Where the buffers come from the index: puts those on the damage list whose header or side area in the file is another one. The
 * index has all that a reader needs of them, so nothing else finds out. PTL_SYSTEM, PTL_NO_MEMORY.
 */
int format_index_compare(struct ptl_trace *trace);

/* ---- streams, by number ------------------------------------------------------------------------------ */

/* The number of the stream with this id; ptl_stream_count: there is none. */
size_t format_stream_number(const struct ptl_trace *trace, uint32_t id);
/* The numbers of its buffers, in order. */
const uint32_t *format_stream_buffers(const struct ptl_trace *trace, size_t stream, size_t *count);
/* Its PSBs as far as they are known: nothing is searched for. */
const struct ptl_psb *format_stream_psbs(const struct ptl_trace *trace, size_t stream, size_t *count);

/* ---- blobs, by number -------------------------------------------------------------------------------- */

/* Whether an attachment of the trace is this blob. */
bool format_is_attached(const struct ptl_trace *trace, const uint8_t hash[PTL_HASH_SIZE]);

struct format_blob_piece {
	uint32_t entry;
	uint32_t from;   /* in the payload */
	uint64_t offset; /* in the blob */
	uint64_t length;
};

/* The pieces of a blob in no order: start with *at = 0; false at the end. */
bool format_blob_piece_of(const struct ptl_trace *trace, size_t blob, uint32_t *at, struct format_blob_piece *piece);
/* Whether a blob is whole, without having all of it in memory: 0, PTL_CORRUPT, ... */
int format_blob_verify(struct ptl_trace *trace, size_t blob);

/* ---- damage ------------------------------------------------------------------------------------------ */

/* Puts something on the damage list. Without memory it is not there; nothing else can be done. */
void format_damage_add(struct ptl_trace *trace, uint64_t offset, uint64_t size, int status, uint32_t stream,
		       const char *format, ...) __attribute__((format(printf, 6, 7)));
/* Whether what could not be read for this is damaged: it is listed and left out, and reading goes on. */
static inline bool format_is_damage(int status)
{
	return status == PTL_CORRUPT || status == PTL_TRUNCATED || status == PTL_UNSUPPORTED;
}

/*
 * The buffer could not be read, for the cause that the chain holds: puts it on the list if that is damage,
 * and the buffer's place into the chain. Returns status.
 */
int format_damage_buffer(struct ptl_trace *trace, struct format_entry *entry, int status);
/* PTL_NO_MEMORY if the list could not take all of it, the memory budget is used up. */
int format_damage_check(struct ptl_trace *trace);

/* ---- where the bytes come from ----------------------------------------------------------------------- */

/* Opens a file, or standard input for "-". Returns the descriptor, the caller's, or PTL_SYSTEM; *name is for messages. */
int format_source_open(const char *path, const char **name);

/*
 * Finds the file's size; a pipe is copied to a temporary file, which replaces *fd. PTL_CANCELLED once *cancelled
 * (which may be NULL) is set and a read has returned.
 */
int format_source_prepare(int *fd, const atomic_bool *cancelled, uint64_t *size);

/* ---- events of several traces ------------------------------------------------------------------------ */

struct format_merge_input {
	struct ptl_trace *trace;
	int64_t time_shift; /* nanoseconds that are added to its times */
};

/* Where an event comes from. */
struct format_merge_place {
	size_t input;
	size_t stream; /* number of the stream in that trace */
};

/*
 * As ptl_process, over several traces: of events with the same time those of the first input come first. filter,
 * which may be NULL, is for times without shift. event may be NULL: buffers are then only checked.
 */
int format_merge_events(const struct format_merge_input *inputs, size_t count, const struct ptl_event_filter *filter,
			int (*event)(void *context, const struct format_merge_place *place,
				     const struct ptl_event *event),
			void *context);

#endif
