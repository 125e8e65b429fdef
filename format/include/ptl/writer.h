/* SPDX-License-Identifier: BSD-2-Clause */
/* Writing a trace file: append-only, any output that takes bytes (a pipe too). */
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
	int level;               /* zstd level; 0 means the default (3) */
	bool store;              /* compresses nothing */
	size_t buffer_size;      /* bytes before compression; 0 means the default; clamped to the format's bounds */
	uint64_t flush_interval; /* nanoseconds of wall time after which a partial buffer is written; 0: never */
	unsigned threads;        /* compression workers beside the caller; 0 compresses in the caller */
	size_t memory_limit;     /* bytes of buffers under way; 0 means the default (64 MiB) */
	bool write_back;         /* has the system write a file to disk as it grows, for who syncs it in the end */
	const char *name;        /* what messages call the file ("cannot write NAME: ..."); NULL: the trace. Copied */
	uint16_t minor;          /* minor version that what is copied into the file needs; 0: this writer's */
};

struct ptl_writer_counts {
	uint64_t raw_bytes;    /* payload bytes handed in */
	uint64_t stored_bytes; /* bytes of the file so far */
	uint64_t buffers;
	uint64_t events;
	uint64_t lost_buffers; /* could not be written; recorded as losses where the file still takes them */
	uint64_t buffer_size;  /* bytes before compression */
	uint64_t buffers_all;  /* for which there is memory */
	uint64_t buffers_free; /* that nothing waits in */
};

/*
 * Starts a trace on fd, which must be writable and at its start; the writer owns it from success on and
 * closes it. Nothing is lost when fd is a pipe. PTL_MISUSE, PTL_NO_MEMORY, PTL_SYSTEM.
 */
int ptl_writer_open(int fd, const struct ptl_writer_options *options, struct ptl_writer **writer);

/*
 * All functions below may be called from one thread at a time. After a failed write the writer goes on: it
 * takes data, counts what is lost, tries again with the next buffer, and writes loss records when the file takes
 * bytes again. The first call that notices a failure returns it (PTL_SYSTEM), once for each run of failures; what
 * that call was given has been taken all the same. Metadata and blobs that could not be written are tried again.
 * A program that writes to pipes ignores SIGPIPE. Others: PTL_MISUSE (nothing was taken), PTL_NO_MEMORY.
 */

/* The machine record; may be given again, and the last one counts (for end_time). */
int ptl_writer_machine(struct ptl_writer *writer, const struct ptl_machine *machine);
/* Declares a stream; id is chosen by the writer and put into stream->id. */
int ptl_writer_stream(struct ptl_writer *writer, struct ptl_stream *stream);
/* Once for each provider and schema; repeating an equal one costs nothing. */
int ptl_writer_schema(struct ptl_writer *writer, const struct ptl_schema *schema);
/*
 * Names of a provider's numbers. Maps of one provider, kind and name add up, and of two names for a value the
 * first counts; repeating an equal one costs nothing.
 */
int ptl_writer_map(struct ptl_writer *writer, const struct ptl_map *map);
/* Appends an event to a stream of kind EVENTS. Times within a stream should not go back (kept exactly if they do). */
int ptl_writer_event(struct ptl_writer *writer, uint32_t stream, const struct ptl_event *event);
/* Appends PT (or TRUTH) bytes to a stream of that kind; nothing in them is later than time. */
int ptl_writer_bytes(struct ptl_writer *writer, uint32_t stream, const void *data, size_t size, uint64_t time);
/*
 * States that a PSB starts at offset (in bytes from the stream's start) at this time; offset may be ahead
 * of, or behind, the bytes handed in so far. PSBs of a stream come in order.
 */
int ptl_writer_psb(struct ptl_writer *writer, uint32_t stream, uint64_t offset, uint64_t time);
/* States that `size` bytes of the stream are missing here (a hole: later offsets count them). */
int ptl_writer_hole(struct ptl_writer *writer, uint32_t stream, uint64_t size, uint64_t time);
/* Stores a blob unless the file already has one of this hash; gives the hash. */
int ptl_writer_blob(struct ptl_writer *writer, uint32_t type, const void *data, size_t size,
		    uint8_t hash[PTL_HASH_SIZE]);
/*
 * The same for `size` bytes at offset of a regular file, which are read twice and never in memory at once. fd stays the
 * caller's. PTL_TRUNCATED (the file has fewer), PTL_CORRUPT (it changed in between; the output is of no use then).
 */
int ptl_writer_blob_file(struct ptl_writer *writer, uint32_t type, int fd, uint64_t offset, uint64_t size,
			 uint8_t hash[PTL_HASH_SIZE]);
int ptl_writer_loss(struct ptl_writer *writer, const struct ptl_loss *loss);
/* What a blob is that was stored: repeating an equal one costs nothing. */
int ptl_writer_attachment(struct ptl_writer *writer, const struct ptl_attachment *attachment);
int ptl_writer_provenance(struct ptl_writer *writer, const struct ptl_provenance *provenance);
/*
 * Copies buffer i of another trace as it is there, whether its kind and codec are known or not: payload, times,
 * side area, and position in its stream, whose id is kept. Only its sequence number is given again. For a whole
 * trace: all its buffers in order, before streams and blobs of the caller's own. The payload's checksum is checked, and
 * it is not decompressed: PTL_CORRUPT or PTL_TRUNCATED, with nothing written, for one that cannot be read (it is
 * then in the trace's list of damage). PTL_MISUSE for a stream id that the file uses for another stream; PTL_NO_MEMORY, PTL_SYSTEM.
 */
int ptl_writer_copy(struct ptl_writer *writer, struct ptl_trace *trace, size_t i);
/*
 * The same, into a stream that ptl_writer_stream declared with the buffer's kind, and whose CPU, pid and tid it then has:
 * streams of several traces get ids that do not clash. BLOB buffers go to the writer's own stream (stream is not looked
 * at); METADATA buffers hold ids of streams, and are PTL_MISUSE.
 */
int ptl_writer_copy_to(struct ptl_writer *writer, struct ptl_trace *trace, size_t i, uint32_t stream);
/* A metadata record as it is (ptl_record_at); an equal schema or map is not written twice. Ids of streams in it are the caller's care. */
int ptl_writer_record(struct ptl_writer *writer, uint64_t type, const void *body, size_t size);
/* Writes all partial buffers out now. */
int ptl_writer_flush(struct ptl_writer *writer);
/* For a caller with nothing to write: writes partial buffers that are older than the flush interval. */
int ptl_writer_poll(struct ptl_writer *writer);

void ptl_writer_counts(const struct ptl_writer *writer, struct ptl_writer_counts *counts);

/* Flushes, writes the index, closes, frees; the first failure of the whole life is returned. */
int ptl_writer_close(struct ptl_writer *writer);
/* Frees without writing more; the file stays readable up to the last buffer written. */
void ptl_writer_abandon(struct ptl_writer *writer);

#ifdef __cplusplus
}
#endif

#endif
