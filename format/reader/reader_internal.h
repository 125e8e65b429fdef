/* SPDX-License-Identifier: BSD-2-Clause */
/* Internals of the reader: the structure of an open trace, and the steps of opening. */
#ifndef FORMAT_READER_READER_INTERNAL_H
#define FORMAT_READER_READER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/reader.h>

#include "common/bytes.h"
#include "common/hash_map.h"
#include "common/memory_budget.h"
#include "common/row_index.h"
#include "format/container/codec.h"
#include "format/container/layout.h"
#include "format/container/side.h"
#include "format/metadata/metadata.h"
#include "format/reader/parts.h"
#include "format/reader/pool.h"

struct format_reader_stream {
	struct ptl_stream stream;
	uint32_t *entries; /* numbers of the stream's buffers, in order */
	size_t count;
	uint64_t next_sequence;
	uint64_t end; /* position after the last buffer */
	struct ptl_psb *psbs;
	size_t psb_count;
	bool scanned; /* the stream's bytes were searched for PSBs; protected by psb_lock */
};

/* A piece of a blob with several pieces. */
struct format_blob_part {
	struct format_blob_piece piece;
	uint32_t next; /* number of the preceding part plus one, or 0 */
};

#define FORMAT_BLOB_PARTS UINT32_MAX

/* A blob. There may be very many blobs, so a blob in a single buffer, the usual case, has no separate piece. */
struct format_blob {
	struct ptl_blob_info info; /* begins with the hash, which is the key */
	/*
	 * buffer that contains the whole blob, from offset `from` on; for a blob with parts: number of the last part
	 * plus one, or 0
	 */
	uint32_t entry;
	uint32_t from; /* FORMAT_BLOB_PARTS: the blob has parts */
	bool refused;  /* the damage list has the excessive size */
};

/* Decompressed buffers in use or kept for reuse. */
struct format_cache {
	pthread_mutex_t lock;
	struct common_hash_map map; /* entry number -> struct format_cached * */
	struct format_cached *newest, *oldest;
	struct format_cached *spares; /* dropped buffers whose memory awaits reuse; linked by `older`, newest first */
	size_t spare_count;
	size_t spare_bytes;
	struct format_pool pool; /* memory of all cached buffers */
	size_t used, limit;
	size_t ended;           /* bytes of `used` whose buffers were read to the end */
	size_t read;            /* bytes of `ended` whose buffers were also read from the start */
	pthread_cond_t changed; /* signalled when loading of a buffer succeeds or fails */
};

/* Decompression state of a thread; kept for the thread's next payload. */
struct format_loader {
	struct format_loader *next;
	const void *thread; /* mark of the thread that used the loader last: an address unique to the thread */
	struct format_decompressor *decompressor;
	struct ptl_bytes stored;
};

/* A moment by the reader's own clock, which may differ from the trace's clock. */
struct format_moment {
	uint64_t at;
	uint64_t reached; /* latest time of the trace's data at this moment */
};

#define FORMAT_MOMENTS 32

/* State of a trace that is read while it is written. */
struct format_growth {
	struct ptl_realtime_options options;
	int pipe;        /* source of more data, copied to the trace's fd; -1: the file itself grows */
	uint64_t next;   /* offset after the last registered buffer */
	size_t loaded;   /* number of buffers whose metadata was read */
	size_t metadata; /* bytes of the metadata read */
	bool started;    /* the file header was read */
	bool over;       /* no more data will follow */
	bool processing; /* within ptl_process, or in a callback */
	size_t timed;    /* number of buffers included in `reached` */
	uint64_t reached;
	struct format_moment moments[FORMAT_MOMENTS]; /* ring of recent moments */
	size_t first_moment, moment_count;
	uint64_t horizon;    /* events up to this time have waited long enough */
	uint64_t more_delay; /* ns in addition to the delay in the options */
};

/* All blobs of the file. */
struct format_blob_table {
	struct format_blob *rows;
	size_t count;
	struct common_row_index index;
	struct format_blob_part *parts; /* parts of all blobs with several pieces */
	size_t part_count;
};

/* The content of the METADATA buffers. */
struct format_trace_metadata {
	struct ptl_machine machine;
	struct ptl_machine **machines; /* by index, from 1 on; NULL for a trace of one machine */
	size_t machine_count;          /* the highest index plus one; 0: only one machine */
	struct ptl_schema **schemas;
	size_t schema_count;
	struct common_byte_map schema_map;
	struct ptl_map **maps;
	size_t map_count;
	struct common_byte_map map_map; /* by provider, kind and name */
	struct ptl_loss **losses;
	size_t loss_count;
	struct ptl_attachment **attachments;
	size_t attachment_count;
	struct common_byte_map attached; /* hashes of the attachments' blobs */
	struct ptl_provenance **provenances;
	size_t provenance_count;
	struct ptl_record *records;
	size_t record_count;
	uint64_t record_numbers[FORMAT_RECORD_TYPES]; /* records by type, without effect or not; 0: of unknown types */
	uint8_t **payloads;                           /* payloads that records point into */
	size_t payload_count;
	struct common_hash_map unknown_types; /* unknown record types already reported */
	uint64_t items;                       /* count limited by FORMAT_METADATA_ITEMS_MAX */
};

/* Damage that any thread has found. A thread changes the list with the lock held. */
struct format_damage_list {
	pthread_mutex_t lock;
	struct ptl_damage **rows;
	size_t count;
	struct common_memory_budget budget;
	bool full; /* the list could not take an entry */
};

/* The loaders of all threads. A thread takes and returns a loader with the lock held. */
struct format_loaders {
	pthread_mutex_t lock;
	struct format_loader *unused;
	size_t count; /* of all loaders */
};

struct ptl_trace {
	int fd;
	char *name;
	uint64_t size;
	struct format_file_header header;
	uint64_t file_id;
	bool complete;
	bool indexed;           /* the buffers were taken from the index */
	uint32_t max_expansion; /* limit for buffers of events */
	struct format_entry *entries;
	size_t entry_count;
	struct format_reader_stream *streams; /* sorted by id after opening */
	size_t stream_count;
	struct common_hash_map stream_map;
	struct format_blob_table blobs;
	char *code_store;                           /* folder with blobs that are not in the file; NULL: none */
	struct common_content_remote *remote_store; /* server that fills the folder; NULL: none */
	struct format_trace_metadata metadata;
	struct common_memory_budget memory_budget; /* memory of all tables */
	size_t memory_limit;                       /* from the options */
	struct format_growth *growth;              /* NULL: the trace does not grow */
	/* Used by several threads: */
	struct format_damage_list damage;
	pthread_mutex_t psb_lock;
	struct format_loaders loaders;
	struct format_cache cache;
};

/* ---- damage --------------------------------------------------------------------------------------- */

/* Adds a whole buffer to the damage list, with the failure in the error chain. Each buffer is added only once. */
void format_damage_entry(struct ptl_trace *trace, struct format_entry *entry, int status);
void format_damage_free(struct ptl_trace *trace);

/* ---- opening -------------------------------------------------------------------------------------- */

/* Adds a buffer to the trace, or to the damage list. side: header->side_size bytes. PTL_NO_MEMORY. */
int format_register(struct ptl_trace *trace, const struct format_buffer_header *header, uint64_t offset,
		    const uint8_t *side);
/* States the number of sequence numbers of a stream, and its end position. offset: for the damage list. */
void format_register_end(struct ptl_trace *trace, uint32_t stream, uint64_t sequence, uint64_t position,
			 uint64_t offset);
/*
 * Returns the stream with this id, new if necessary; *made: whether it is new. NULL without memory, with the reason in
 * the error chain.
 */
struct format_reader_stream *format_register_stream(struct ptl_trace *trace, const struct ptl_stream *stream,
						    bool *made);

/* Whether the file ends with a valid trailer of its own. *status: 0 or PTL_SYSTEM. */
bool format_find_trailer(struct ptl_trace *trace, struct format_trailer *trailer, int *status);
/* Registers all buffers in the index. PTL_CORRUPT (nothing was registered), PTL_NO_MEMORY, PTL_SYSTEM. */
int format_index_load(struct ptl_trace *trace, const struct format_trailer *trailer);
/* Registers all buffers by scanning the file from offset `from` on. */
int format_scan(struct ptl_trace *trace, uint64_t from);
/*
 * Registers the complete buffers of a growing file from *at on, and moves *at past them. Sets trace->complete if the
 * trailer follows.
 */
int format_scan_grown(struct ptl_trace *trace, uint64_t *at);
/*
 * Reads the METADATA buffers from number `first` on. *total: bytes of the METADATA buffers read so far; updated.
 * PTL_NO_MEMORY, PTL_SYSTEM.
 */
int format_metadata_load(struct ptl_trace *trace, size_t first, size_t *total);
void format_metadata_free(struct ptl_trace *trace);

/* ---- steps of opening, for growing traces ------------------------------------------------------------- */

/* Creates a trace without content. The trace owns fd only after opening. NULL without memory. */
struct ptl_trace *format_trace_new(int fd, const char *name, const struct ptl_open_options *options);
/* Frees the trace, but does not close its descriptor. */
void format_trace_free(struct ptl_trace *trace);
/* Reads the file header. PTL_NOT_OURS, PTL_UNSUPPORTED, PTL_TRUNCATED, PTL_CORRUPT, PTL_SYSTEM. */
int format_header_read(struct ptl_trace *trace);
/* Sorts the streams by id. PTL_NO_MEMORY. */
int format_streams_sort(struct ptl_trace *trace);

/* ---- payloads ------------------------------------------------------------------------------------- */

/* Adds a piece to a blob. PTL_NO_MEMORY. */
int format_blob_add_piece(struct ptl_trace *trace, struct format_blob *blob, const struct format_blob_piece *piece);
/* Walks the pieces of a blob in no particular order: start with *at = 0; false at the end. */
bool format_blob_next_piece(const struct ptl_trace *trace, const struct format_blob *blob, uint32_t *at,
			    struct format_blob_piece *piece);
/* Verifies that a blob is complete, without loading the whole blob into memory: 0, PTL_CORRUPT, ... */
int format_blob_check(struct ptl_trace *trace, const struct format_blob *blob);
/*
 * As ptl_buffer_release, for a reader that has read the buffer's start, or its end. A buffer is rarely needed again
 * after both were read. Threads that read neighbouring parts of a stream share a buffer: one thread reads its end
 * early, the other thread reads its start much later.
 */
void format_buffer_release_read(struct ptl_trace *trace, size_t i, bool start, bool end);
void format_loaders_free(struct ptl_trace *trace);
void format_cache_free(struct format_cache *cache);

#endif
