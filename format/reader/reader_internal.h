/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reader's inside: what a trace is after it was opened, and the parts that opening consists of.
 */
#ifndef FORMAT_READER_READER_INTERNAL_H
#define FORMAT_READER_READER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/reader.h>

#include "common/memory_budget.h"
#include "common/bytes.h"
#include "common/hash_map.h"
#include "common/row_index.h"
#include "format/container/codec.h"
#include "format/container/layout.h"
#include "format/container/side.h"
#include "format/reader/parts.h"
#include "format/reader/pool.h"

struct format_reader_stream {
	struct ptl_stream stream;
	uint32_t *entries; /* numbers of its buffers, in order */
	size_t count;
	uint64_t next_sequence;
	uint64_t end; /* position behind the last buffer */
	struct ptl_psb *psbs;
	size_t psb_count;
	bool scanned; /* PSBs were searched for in the bytes; under psb_lock */
};

/* Of a blob with several. */
struct format_blob_part {
	struct format_blob_piece piece;
	uint32_t next; /* number of the one before it plus one, or 0 */
};

#define FORMAT_BLOB_PARTS UINT32_MAX

/* There can be very many: one that lies in one buffer, as nearly all do, has no piece of its own. */
struct format_blob {
	struct ptl_blob_info info; /* begins with the hash, which is the key */
	uint32_t entry; /* all of it is there, from `from` on; else the number of its last part plus one, or 0 */
	uint32_t from;  /* FORMAT_BLOB_PARTS: it has parts */
	bool refused;   /* its size is on the list of damage */
};

/* Decompressed buffers that are in use or may be wanted again. */
struct format_cache {
	pthread_mutex_t lock;
	struct common_hash_map map; /* entry number to struct format_cached * */
	struct format_cached *newest, *oldest;
	struct format_cached *spares; /* dropped, newest first by `older`: their memory waits for the next buffers */
	size_t spare_count;
	size_t spare_bytes;
	struct format_pool pool; /* memory of all of them */
	size_t used, limit;
	size_t ended;           /* bytes of `used` that were read to their end */
	size_t read;            /* of these, read from their start on, too */
	pthread_cond_t changed; /* a buffer was loaded, or could not be */
};

/* What one thread needs to load a payload; kept for its next one. */
struct format_loader {
	struct format_loader *next;
	const void *thread; /* that used it last, as an address of its own */
	struct format_decompressor *decompressor;
	struct ptl_bytes stored;
};

/* By the reader's own clock, which need not be that of the trace. */
struct format_moment {
	uint64_t at;
	uint64_t reached; /* the latest time of anything that was there by then */
};

#define FORMAT_MOMENTS 32

/* Of a trace that is read while it is written. */
struct format_growth {
	struct ptl_realtime_options options;
	int pipe;        /* where more of it comes from, copied to the trace's fd; -1: the file itself grows */
	uint64_t next;   /* offset of the first byte that is of no buffer that is known */
	size_t loaded;   /* buffers whose metadata has been read */
	size_t metadata; /* bytes of these */
	bool started;    /* the file header has been read */
	bool over;       /* nothing more is to come */
	bool processing; /* within ptl_process, or a callback */
	size_t timed;    /* buffers that `reached` counts */
	uint64_t reached;
	struct format_moment moments[FORMAT_MOMENTS]; /* of which it is kept how far the trace went by then: a ring */
	size_t first_moment, moment_count;
	uint64_t horizon;    /* what has a time up to this one has waited long enough */
	uint64_t more_delay; /* ns beside that of the options */
};

struct ptl_trace {
	int fd;
	char *name;
	uint64_t size;
	struct format_file_header header;
	uint64_t file_id;
	bool complete;
	bool indexed;           /* the buffers come from the index */
	uint32_t max_expansion; /* of buffers of events */
	struct format_entry *entries;
	size_t entry_count;
	struct format_reader_stream *streams; /* by id, once the file is open */
	size_t stream_count;
	struct common_hash_map stream_map;
	struct format_blob *blobs;
	size_t blob_count;
	struct common_row_index blob_index;
	struct format_blob_part *blob_parts; /* of all blobs with several */
	size_t blob_part_count;
	char *code_store;                           /* folder with blobs that are not in the file; NULL: none */
	struct common_content_remote *remote_store; /* what fills that folder; NULL: nothing does */
	/* Metadata: */
	struct ptl_machine machine;
	struct ptl_machine **machines; /* by index, from 1 on; NULL where there is only one */
	size_t machine_count;          /* the highest index plus one; 0: only one */
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
	struct common_byte_map attached; /* hashes of their blobs */
	struct ptl_provenance **provenances;
	size_t provenance_count;
	struct ptl_record *records;
	size_t record_count;
	uint8_t **payloads; /* that records point into */
	size_t payload_count;
	struct common_hash_map unknown_types;      /* of records, that were reported */
	uint64_t metadata_items;                   /* what FORMAT_METADATA_ITEMS_MAX bounds */
	struct common_memory_budget memory_budget; /* all tables */
	/* While in use, from several threads: */
	pthread_mutex_t damage_lock;
	struct ptl_damage **damages;
	size_t damage_count;
	struct common_memory_budget damage_account;
	bool too_damaged; /* there was no room on the list */
	pthread_mutex_t psb_lock;
	pthread_mutex_t loader_lock;
	struct format_loader *loaders; /* that nobody uses now */
	size_t loader_count;           /* of all */
	size_t memory_limit;           /* of the options */
	struct format_cache cache;
	struct format_growth *growth; /* NULL: nothing is waited for */
};

/* ---- damage --------------------------------------------------------------------------------------- */

/* The same for a whole buffer whose failure is in the chain of causes; once for each buffer. */
void format_damage_entry(struct ptl_trace *trace, struct format_entry *entry, int status);
void format_damage_free(struct ptl_trace *trace);

/* ---- opening -------------------------------------------------------------------------------------- */

/*
 * Puts a buffer into the trace, or onto the damage list. side holds header->side_size bytes.
 * PTL_NO_MEMORY.
 */
int format_register(struct ptl_trace *trace, const struct format_buffer_header *header, uint64_t offset,
		    const uint8_t *side);
/*
 * States how many sequence numbers a stream got, and where it ends. offset is for the damage list.
 */
void format_register_end(struct ptl_trace *trace, uint32_t stream, uint64_t sequence, uint64_t position,
			 uint64_t offset);
/* The stream of this id, which is made if need be. NULL without memory: the chain says so. */
struct format_reader_stream *format_register_stream(struct ptl_trace *trace, const struct ptl_stream *stream,
						    bool *made);

/* True if a valid trailer of this file ends it. PTL_SYSTEM is in *status. */
bool format_find_trailer(struct ptl_trace *trace, struct format_trailer *trailer, int *status);
/*
 * Registers all buffers that the index names; PTL_CORRUPT (nothing was registered), PTL_NO_MEMORY,
 * PTL_SYSTEM.
 */
int format_index_load(struct ptl_trace *trace, const struct format_trailer *trailer);
/* Registers all buffers by going through the file from this offset on. */
int format_scan(struct ptl_trace *trace, uint64_t from);
/*
 * Registers what is whole in a file that grows, from *at on, which moves behind it; trace->complete is set where the trailer
 * follows.
 */
int format_scan_grown(struct ptl_trace *trace, uint64_t *at);
/*
 * Reads the METADATA buffers from this one on; *total is how many bytes those before it had, and all have. PTL_NO_MEMORY,
 * PTL_SYSTEM.
 */
int format_metadata_load(struct ptl_trace *trace, size_t first, size_t *total);
void format_metadata_free(struct ptl_trace *trace);

/* ---- steps of opening, for a trace that grows ------------------------------------------------------ */

/* A trace without content, which takes fd over when it is opened. NULL without memory. */
struct ptl_trace *format_trace_new(int fd, const char *name, const struct ptl_open_options *options);
/* Frees everything but the descriptor. */
void format_trace_free(struct ptl_trace *trace);
/* Reads the file header. PTL_NOT_OURS, PTL_UNSUPPORTED, PTL_TRUNCATED, PTL_CORRUPT, PTL_SYSTEM. */
int format_header_read(struct ptl_trace *trace);
/* Puts streams into the order of their ids. PTL_NO_MEMORY. */
int format_streams_sort(struct ptl_trace *trace);

/* ---- growing -------------------------------------------------------------------------------------- */

/* Gives events of a growing trace until it is over; as ptl_process. */
int format_realtime_process(struct ptl_trace *trace, const struct ptl_event_filter *filter,
			    const struct ptl_callbacks *callbacks, void *context);
void format_growth_free(struct format_growth *growth);

/* ---- payloads ------------------------------------------------------------------------------------- */

/* Puts a piece to a blob. PTL_NO_MEMORY. */
int format_blob_add_piece(struct ptl_trace *trace, struct format_blob *blob, const struct format_blob_piece *piece);
/* The pieces of a blob in no order: start with *at = 0; false at the end. */
bool format_blob_next_piece(const struct ptl_trace *trace, const struct format_blob *blob, uint32_t *at,
			    struct format_blob_piece *piece);
/* Whether a blob is whole, without having all of it in memory: 0, PTL_CORRUPT, ... */
int format_blob_check(struct ptl_trace *trace, const struct format_blob *blob);
/*
 * As ptl_buffer_release, by a reader that has read from the buffer's start on, or to its end. A buffer of which both were
 * read is rarely wanted again. Threads that go through a stream one beside the other meet in buffers of which one reads the
 * end first, and the other one the start much later.
 */
void format_buffer_release_read(struct ptl_trace *trace, size_t i, bool start, bool end);
void format_loaders_free(struct ptl_trace *trace);
void format_cache_free(struct format_cache *cache);

#endif
