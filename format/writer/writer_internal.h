/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The writer's inside: streams fill buffers, a queue compresses them, the output puts them into the
 * file.
 */
#ifndef FORMAT_WRITER_WRITER_INTERNAL_H
#define FORMAT_WRITER_WRITER_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/reader.h>
#include <ptl/writer.h>

#include "common/memory_budget.h"
#include "common/bytes.h"
#include "common/hash_map.h"
#include "common/row_index.h"
#include "format/container/codec.h"
#include "format/event/events.h"
#include "format/container/layout.h"
#include "format/container/side.h"
#include "format/writer/copy.h"

/* ---- output: one thread at a time ----------------------------------------------------------------- */

/* A piece of the index, of the size of a buffer. */
struct format_index_piece {
	struct ptl_bytes bytes; /* none of them where it waits in the temporary file */
	size_t size;            /* of one that waits there */
	uint64_t offset;        /* and where */
};

struct format_output {
	int fd;
	char *name;      /* owned; NULL: unknown */
	bool can_rewind; /* a regular file: a partial buffer can be cut off again */
	uint64_t offset; /* bytes in the file */
	uint64_t file_id;
	struct format_index_piece *index;
	size_t index_count;
	int spill; /* an unnamed file in which full pieces wait; -1: none */
	uint64_t spilled;
	bool spill_failed;     /* all pieces stay in memory */
	uint32_t index_stream; /* id */
	uint64_t index_end;    /* end of the last buffer that is in the index */
	bool write_back;
	uint64_t written_back; /* up to here the system was asked to write to disk */
	bool index_failed;     /* no memory for it: the file is closed without one */
	bool unfinished;       /* the caller did not record to the end: the file gets no index and no trailer */
};

/* Of the options, name and minor: the minor version to state, if it is newer than ours. */
int format_output_start(struct format_output *output, int fd, const struct ptl_writer_options *options);
/* Of errno, with what is written. PTL_SYSTEM. */
int format_output_fail(const struct format_output *output);
/*
 * Writes one buffer: header, side area and payload are one piece of memory. PTL_SYSTEM: nothing or
 * a part was written.
 */
int format_output_buffer(struct format_output *output, const uint8_t *data, size_t size);
/* Adds "end of stream" to the index. */
void format_output_stream_end(struct format_output *output, uint32_t stream, uint64_t sequence, uint64_t position);
/* Writes index and trailer. */
int format_output_finish(struct format_output *output, struct format_compressor *compressor);
void format_output_free(struct format_output *output); /* does not close */

/* ---- queue: from a full buffer to the file -------------------------------------------------------- */

enum format_job_state { FORMAT_JOB_NEW, FORMAT_JOB_BUSY, FORMAT_JOB_DONE };

/* A full buffer on its way. Owned by the queue from submission on. */
struct format_job {
	struct format_job *next;
	enum format_job_state state;
	struct format_buffer_header header;
	struct ptl_bytes raw;            /* the payload of all kinds but EVENTS */
	struct format_event_batch batch; /* EVENTS */
	struct ptl_psb *psbs;
	size_t psb_count;
	struct format_chunk *chunks;
	size_t chunk_count;
	size_t memory;         /* what it counts against the limit */
	bool again;            /* a copied buffer whose payload is compressed again: file is header and side area */
	struct ptl_bytes file; /* header, side area, payload as stored; a copied buffer comes with it */
};

/* Buffers of one stream that could not be written, since this was last asked for. */
struct format_lost {
	uint32_t stream;
	uint32_t pid; /* of the stream */
	uint32_t tid;
	uint64_t buffers;
	uint64_t bytes;
	uint64_t first_time;
	uint64_t last_time;
};

#define FORMAT_SPARE_MAX 16

struct format_queue {
	pthread_mutex_t lock;
	pthread_cond_t work;                    /* a job came, or stop */
	pthread_cond_t space;                   /* a job left */
	struct format_job *head, *tail, *fresh; /* fresh: the first that nobody works on */
	size_t memory, memory_limit;
	uint64_t submitted, left; /* jobs so far */
	bool writing;             /* some thread is at the file */
	bool stop;
	pthread_t *threads;
	unsigned thread_count;
	int level;
	bool store;                           /* nothing is compressed */
	struct format_compressor *compressor; /* of the calling thread */
	struct format_output output;
	struct ptl_writer_counts counts; /* stored_bytes, buffers, lost_buffers */
	/* What went wrong: */
	int first_status;
	char first_text[512];
	char cause[128]; /* of the last failure, for loss records */
	bool failing;    /* the last write failed */
	bool unreported; /* a failure that no call has returned yet */
	struct format_lost *lost;
	size_t lost_count;
	uint64_t lost_events;
	struct ptl_bytes spare[FORMAT_SPARE_MAX]; /* memory of jobs that are done, for those that follow */
	size_t spare_count;
	struct format_job *returned; /* METADATA and BLOB buffers that were lost: their content goes again */
};

int format_queue_start(struct format_queue *queue, int fd, const struct ptl_writer_options *options);
/* Hands a job over. Blocks while the memory limit is passed. */
void format_queue_submit(struct format_queue *queue, struct format_job *job);
/* Waits until all that was submitted is in the file, or lost. */
void format_queue_drain(struct format_queue *queue);
/* The same of the first jobs that were submitted, this many. Waits only if asked to; whether they are. */
bool format_queue_reach(struct format_queue *queue, uint64_t jobs, bool wait);
/* Ends the threads after what is queued; with discard, what nobody works on yet is dropped. */
void format_queue_stop(struct format_queue *queue, bool discard);
void format_queue_free(struct format_queue *queue);
/* Gives empty bytes memory that was used before, if there is any. */
void format_queue_reuse(struct format_queue *queue, struct ptl_bytes *bytes);
void format_job_free(struct format_job *job);

/* ---- writer --------------------------------------------------------------------------------------- */

struct ptl_writer_stream {
	struct ptl_stream stream;
	bool taken;        /* no stream: a copied one has this id */
	uint64_t sequence; /* of the buffer being filled */
	uint64_t position; /* of its first byte */
	uint64_t end;      /* position behind the last buffer handed over */
	struct ptl_bytes raw;
	struct format_event_batch batch;
	struct ptl_psb *psbs;
	size_t psb_count;
	bool has_psb;
	uint64_t last_psb; /* offset */
	struct format_chunk *chunks;
	size_t chunk_count;
	uint32_t records;
	bool has_time;
	uint64_t first_time, last_time;
	uint64_t since;   /* monotonic clock when the first thing came in; 0: empty */
	size_t accounted; /* what of it is in writer->partial_bytes */
};

/* A blob that the file has; there can be very many. */
struct format_written_blob {
	uint8_t hash[PTL_HASH_SIZE];
	bool there; /* false: it was lost again */
};

struct ptl_writer {
	struct format_queue queue;
	size_t buffer_size;
	uint64_t flush_interval;
	struct ptl_writer_stream **streams; /* by id */
	size_t stream_count;
	struct ptl_writer_stream **copied; /* by copied_map: streams of other traces with ids of their own */
	size_t copied_count;
	struct common_hash_map copied_map;
	struct common_byte_map once; /* schemas and maps that are in the file: type and body */
	struct format_written_blob *blobs;
	size_t blob_count;
	struct common_row_index blob_index;
	size_t metadata_bytes;
	uint64_t metadata_items; /* as readers count them; but for those of buffers that were copied */
	struct common_memory_budget memory_budget;
	size_t partial_bytes; /* that wait in all streams */
	unsigned calls;       /* since the flush interval was last looked at */
	uint64_t raw_bytes, events;
	uint64_t seen_lost; /* lost buffers that have been made loss records */
};

/* ---- records and losses --------------------------------------------------------------------------- */

/* Appends a record to the METADATA stream. PTL_MISUSE where it passes the bounds on metadata, PTL_NO_MEMORY. */
int format_writer_put_record(struct ptl_writer *writer, uint64_t type, const struct ptl_bytes *body);
int format_writer_put_loss(struct ptl_writer *writer, const struct ptl_loss *loss);
/*
 * Turns what could not be written into loss records, once the file takes bytes again or, with finally, in any case.
 */
int format_writer_report_losses(struct ptl_writer *writer, bool finally);
/* What a call returns: its own status, else a failed write that no call has reported yet. */
int format_writer_settle(struct ptl_writer *writer, int status);

#endif
