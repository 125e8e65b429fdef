/* SPDX-License-Identifier: BSD-2-Clause */
/* Internals of the writer: streams fill buffers, a queue compresses them, and the output writes them to the file. */
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

/* ---- output; for one thread at a time -------------------------------------------------------------- */

/* A piece of the index, as large as a buffer. */
struct format_index_piece {
	struct ptl_bytes bytes; /* empty while the piece is in the temporary file */
	size_t size;            /* bytes in the temporary file */
	uint64_t offset;        /* offset in the temporary file */
};

struct format_output {
	int fd;
	char *name;      /* owned; NULL: unknown */
	bool can_rewind; /* regular file: a partial buffer can be cut off */
	uint64_t offset; /* bytes in the file */
	uint64_t file_id;
	struct format_index_piece *index;
	size_t index_count;
	int spill; /* unnamed file with full pieces; -1: none */
	uint64_t spilled;
	bool spill_failed;     /* keep all pieces in memory */
	uint32_t index_stream; /* id of the index stream */
	uint64_t index_end;    /* end of the last buffer in the index */
	bool write_back;
	uint64_t written_back; /* end of the bytes whose writing to disk was started */
	bool index_failed;     /* no memory for the index: the file is closed without index */
	bool unfinished;       /* the recording is incomplete: write neither index nor trailer */
};

/* Starts a file. Uses of *options: name, and minor: the minor version to state if newer than FORMAT_VERSION_MINOR. */
int format_output_start(struct format_output *output, int fd, const struct ptl_writer_options *options);
/* Fails with PTL_SYSTEM, the file's name and errno's text. */
int format_output_fail(const struct format_output *output);
/* Writes one buffer: header, side area and payload in one block. PTL_SYSTEM: nothing or only a part was written. */
int format_output_buffer(struct format_output *output, const uint8_t *data, size_t size);
/* Adds an "end of stream" item to the index. */
void format_output_stream_end(struct format_output *output, uint32_t stream, uint64_t sequence, uint64_t position);
/* Writes index and trailer. */
int format_output_finish(struct format_output *output, struct format_compressor *compressor);
void format_output_free(struct format_output *output); /* does not close the file */

/* ---- queue: from full buffers to the file ----------------------------------------------------------- */

enum format_job_state { FORMAT_JOB_NEW, FORMAT_JOB_BUSY, FORMAT_JOB_DONE };

/* A full buffer being processed. The queue owns a submitted job. */
struct format_job {
	struct format_job *next;
	enum format_job_state state;
	struct format_buffer_header header;
	struct ptl_bytes raw;            /* payload, unless the kind is EVENTS */
	struct format_event_batch batch; /* EVENTS */
	struct ptl_psb *psbs;
	size_t psb_count;
	struct format_chunk *chunks;
	size_t chunk_count;
	size_t memory;         /* bytes counted towards the limit */
	bool again;            /* a copied buffer to be recompressed; `file` has header and side area */
	struct ptl_bytes file; /* header, side area and stored payload; filled already for a copied buffer */
};

/* Buffers of a stream lost since the last report. */
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
	pthread_cond_t work;                    /* signalled when a job is submitted or `stop` is set */
	pthread_cond_t space;                   /* signalled when a job has left the queue */
	struct format_job *head, *tail, *fresh; /* fresh: first job not being processed */
	size_t memory, memory_limit;
	uint64_t submitted, left; /* number of jobs so far */
	bool writing;             /* a thread writes to the file */
	bool stop;
	pthread_t *threads;
	unsigned thread_count;
	int level;
	bool store;                           /* no compression */
	struct format_compressor *compressor; /* for use by the calling thread */
	struct format_output output;
	struct ptl_writer_counts counts; /* only stored_bytes, buffers, lost_buffers */
	/* Failures: */
	int first_status;
	char first_text[512];
	char cause[128]; /* cause of the last failure, for loss records */
	bool failing;    /* the last write failed */
	bool unreported; /* a failure that no call has returned yet */
	struct format_lost *lost;
	size_t lost_count;
	uint64_t lost_events;
	struct ptl_bytes spare[FORMAT_SPARE_MAX]; /* memory of finished jobs, for reuse */
	size_t spare_count;
	struct format_job *returned; /* lost METADATA and BLOB buffers, to be retried */
};

int format_queue_start(struct format_queue *queue, int fd, const struct ptl_writer_options *options);
/* Submits a job. Blocks while the memory limit is exceeded. */
void format_queue_submit(struct format_queue *queue, struct format_job *job);
/* Waits until all submitted jobs are in the file or lost. */
void format_queue_drain(struct format_queue *queue);
/* Whether the first `jobs` submitted jobs are in the file or lost. wait: waits for them. */
bool format_queue_reach(struct format_queue *queue, uint64_t jobs, bool wait);
/* Ends the threads after all queued jobs; with discard, drops jobs that are not being processed. */
void format_queue_stop(struct format_queue *queue, bool discard);
void format_queue_free(struct format_queue *queue);
/* Gives an empty vector reused memory, if available. */
void format_queue_reuse(struct format_queue *queue, struct ptl_bytes *bytes);
void format_job_free(struct format_job *job);

/* ---- writer --------------------------------------------------------------------------------------- */

struct ptl_writer_stream {
	struct ptl_stream stream;
	bool taken;        /* placeholder for an id used by a copied stream */
	uint64_t sequence; /* of the current buffer */
	uint64_t position; /* position of the buffer's first byte */
	uint64_t end;      /* position after the last submitted buffer */
	struct ptl_bytes raw;
	struct format_event_batch batch;
	struct ptl_psb *psbs;
	size_t psb_count;
	bool has_psb;
	uint64_t last_psb; /* offset of the last PSB */
	struct format_chunk *chunks;
	size_t chunk_count;
	uint32_t records;
	bool has_time;
	uint64_t first_time, last_time;
	uint64_t since;   /* monotonic time of the first data in the buffer; 0: empty */
	size_t accounted; /* bytes counted in writer->partial_bytes */
};

/* A blob of the file. A file may contain millions of blobs. */
struct format_written_blob {
	uint8_t hash[PTL_HASH_SIZE];
	bool there; /* false: lost again */
};

struct ptl_writer {
	struct format_queue queue;
	size_t buffer_size;
	uint64_t flush_interval;
	struct ptl_writer_stream **streams; /* by id */
	size_t stream_count;
	struct ptl_writer_stream **copied; /* indexed by copied_map: streams copied from other traces with their ids */
	size_t copied_count;
	struct common_hash_map copied_map;
	struct common_byte_map once; /* schemas, maps and attachments in the file: type and body */
	struct format_written_blob *blobs;
	size_t blob_count;
	struct common_row_index blob_index;
	size_t metadata_bytes;
	uint64_t metadata_items; /* items as counted by readers, except those in copied buffers */
	struct common_memory_budget memory_budget;
	size_t partial_bytes; /* bytes buffered in all streams */
	unsigned calls;       /* calls since the last check of the flush interval */
	uint64_t raw_bytes, events;
	uint64_t seen_lost; /* lost buffers already written as loss records */
};

/* ---- records and losses --------------------------------------------------------------------------- */

/* Appends a record to the METADATA stream. PTL_MISUSE if the limits for metadata would be exceeded, PTL_NO_MEMORY. */
int format_writer_put_record(struct ptl_writer *writer, uint64_t type, const struct ptl_bytes *body);
int format_writer_put_loss(struct ptl_writer *writer, const struct ptl_loss *loss);
/* Writes loss records for lost buffers if the file accepts bytes again; with finally, in any case. */
int format_writer_report_losses(struct ptl_writer *writer, bool finally);
/* Returns the result of a call: its own failure, else a failed write that no call has returned yet. */
int format_writer_settle(struct ptl_writer *writer, int status);

#endif
