/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes trace files: append-only, to any output that accepts bytes, including pipes. */
#ifndef PTL_WRITER_H
#define PTL_WRITER_H

#include <ptl/event.h>
#include <ptl/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ptl_trace;
struct ptl_writer;

struct ptl_writer_options {
	size_t size;             /* sizeof(struct ptl_writer_options) */
	int level;               /* zstd level; 0: default (3) */
	bool store;              /* do not compress */
	size_t buffer_size;      /* bytes before compression; 0: default; clamped to the format's limits */
	uint64_t flush_interval; /* nanoseconds of wall time after which a partial buffer is written; 0: never */
	unsigned threads;        /* compression workers besides the caller; 0: the caller compresses */
	size_t memory_limit;     /* limit for buffers in use, in bytes; 0: default (64 MiB) */
	/* start writing the file to disk as it grows, for a caller that syncs the file at the end */
	bool write_back;
	const char *name; /* name of the file in messages ("cannot write NAME: ..."); NULL: the trace. Copied */
	uint16_t minor;   /* minor version required by data copied into the file; 0: this writer's version */
};

struct ptl_writer_counts {
	uint64_t raw_bytes;    /* payload bytes passed to the writer */
	uint64_t stored_bytes; /* bytes of the file so far */
	uint64_t buffers;
	uint64_t events;
	/* buffers that could not be written; recorded as losses if the file accepts bytes again */
	uint64_t lost_buffers;
	uint64_t buffer_size;  /* bytes before compression */
	uint64_t buffers_all;  /* number of buffers that memory_limit allows */
	uint64_t buffers_free; /* number of buffers not in use */
};

/*
 * Starts a trace on fd, which must be writable and at its start. On success, the writer owns fd and closes it. A pipe
 * is as good as a file. PTL_MISUSE, PTL_NO_MEMORY, PTL_SYSTEM.
 */
int ptl_writer_open(int fd, const struct ptl_writer_options *options, struct ptl_writer **writer);

/*
 * All functions below may be called from one thread at a time. After a failed write, the writer continues: it accepts
 * data, counts losses, retries with the next buffer, and writes loss records when the file accepts bytes again. The
 * first call that notices a failure returns PTL_SYSTEM, once per sequence of failures; the call's data was accepted
 * nevertheless. Metadata and blobs that could not be written are retried. A program that writes to pipes must ignore
 * SIGPIPE. Other errors: PTL_MISUSE (nothing was accepted), PTL_NO_MEMORY.
 */

/* Sets the machine record. May be called repeatedly (for end_time); the last call counts. */
int ptl_writer_machine(struct ptl_writer *writer, const struct ptl_machine *machine);
/* Declares a stream. The writer chooses the id and stores it in stream->id. */
int ptl_writer_stream(struct ptl_writer *writer, struct ptl_stream *stream);
/* Adds a schema. Call once for each provider and schema; repeating an equal schema costs nothing. */
int ptl_writer_schema(struct ptl_writer *writer, const struct ptl_schema *schema);
/*
 * Adds names of a provider's numbers. Maps of the same provider, kind and name are combined; if a value has two names,
 * the first name counts. Repeating an equal map costs nothing.
 */
int ptl_writer_map(struct ptl_writer *writer, const struct ptl_map *map);
/*
 * Appends an event to a stream of the kind EVENTS. Times within a stream should not decrease; decreasing times are
 * stored exactly.
 */
int ptl_writer_event(struct ptl_writer *writer, uint32_t stream, const struct ptl_event *event);
/* Appends bytes to a PT or TRUTH stream. `time` is not earlier than any time in the bytes. */
int ptl_writer_bytes(struct ptl_writer *writer, uint32_t stream, const void *data, size_t size, uint64_t time);
/*
 * States that a PSB with this time starts at `offset` (in bytes from the stream's start). The offset may be ahead of or
 * behind the bytes passed so far. PSBs of a stream must come in order.
 */
int ptl_writer_psb(struct ptl_writer *writer, uint32_t stream, uint64_t offset, uint64_t time);
/* States that `size` bytes of the stream are missing here: a hole, which later offsets count. */
int ptl_writer_hole(struct ptl_writer *writer, uint32_t stream, uint64_t size, uint64_t time);
/* Stores a blob, unless the file already has a blob with this hash. Returns the hash. */
int ptl_writer_blob(struct ptl_writer *writer, uint32_t type, const void *data, size_t size,
		    uint8_t hash[PTL_HASH_SIZE]);
/*
 * As ptl_writer_blob, for `size` bytes at `offset` of a regular file, which are read twice and never in memory at once.
 * The caller owns fd. PTL_TRUNCATED: the file has fewer bytes. PTL_CORRUPT: the file changed between the two reads; the
 * output is useless then.
 */
int ptl_writer_blob_file(struct ptl_writer *writer, uint32_t type, int fd, uint64_t offset, uint64_t size,
			 uint8_t hash[PTL_HASH_SIZE]);
int ptl_writer_loss(struct ptl_writer *writer, const struct ptl_loss *loss);
/* Describes a stored blob. Repeating an equal attachment costs nothing. */
int ptl_writer_attachment(struct ptl_writer *writer, const struct ptl_attachment *attachment);
int ptl_writer_provenance(struct ptl_writer *writer, const struct ptl_provenance *provenance);
/*
 * Copies buffer i of another trace unchanged, even if its kind or codec is unknown: payload, times, side area, and
 * position in its stream, whose id is kept. Only the sequence number is new. To copy a whole trace, copy all its
 * buffers in order, before adding own streams and blobs. The payload's checksum is verified without decompression.
 * PTL_CORRUPT or PTL_TRUNCATED: the buffer cannot be read; nothing was written, and the trace's list of damage has the
 * buffer. PTL_MISUSE: the file uses the stream id for another stream. PTL_NO_MEMORY, PTL_SYSTEM.
 */
int ptl_writer_copy(struct ptl_writer *writer, struct ptl_trace *trace, size_t i);
/*
 * As ptl_writer_copy, into a stream declared by ptl_writer_stream with the buffer's kind. The buffer gets the CPU, pid
 * and tid of this stream. So streams of several traces get distinct ids. BLOB buffers go to the writer's own stream
 * (`stream` is ignored). METADATA buffers contain stream ids: PTL_MISUSE.
 */
int ptl_writer_copy_to(struct ptl_writer *writer, struct ptl_trace *trace, size_t i, uint32_t stream);
/*
 * Adds a metadata record unchanged (ptl_record_at). An equal schema or map is not written twice. The caller is
 * responsible for stream ids in the record.
 */
int ptl_writer_record(struct ptl_writer *writer, uint64_t type, const void *body, size_t size);
/* Writes all partial buffers now. */
int ptl_writer_flush(struct ptl_writer *writer);
/* For a caller without new data: writes partial buffers older than the flush interval. */
int ptl_writer_poll(struct ptl_writer *writer);

void ptl_writer_counts(const struct ptl_writer *writer, struct ptl_writer_counts *counts);

/* Flushes, writes the index, closes and frees the writer. Returns the first failure of the writer's lifetime. */
int ptl_writer_close(struct ptl_writer *writer);
/* Frees the writer without further writing. The file is readable up to the last buffer written. */
void ptl_writer_abandon(struct ptl_writer *writer);

#ifdef __cplusplus
}
#endif

#endif
