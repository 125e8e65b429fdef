/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The payload of an EVENTS buffer (docs/format.md 6): a batch to be encoded, a block that was
 * decoded.
 */
#ifndef FORMAT_EVENT_EVENTS_H
#define FORMAT_EVENT_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/event.h>

#include "common/bytes.h"
#include "common/hash_map.h"

#define FORMAT_EVENTS_MAX (1u << 20) /* events of a buffer */
#define FORMAT_EXTENDED_MAX 1024     /* extended items of an event */
/* Bytes of all of them together, which the writer accepts. */
#define FORMAT_EXTENDED_BYTES_MAX (1u << 20)
#define FORMAT_EVENT_FLAGS (PTL_EVENT_HAS_ACTIVITY | PTL_EVENT_HAS_RELATED | PTL_EVENT_INJECTED)

/* Where the statistics of the encoded bytes change, for the compressor. */
#define FORMAT_EVENT_SPLITS_MAX 64
struct format_event_splits {
	size_t at[FORMAT_EVENT_SPLITS_MAX];
	size_t count;
	bool is_level; /* the last plane */
};

#define FORMAT_RECENT_DESCRIPTORS 16
#define FORMAT_RECENT_CONTEXTS 1024

/* Marks a place where the statistics change, unless it is close to the last one. */
void format_event_splits_add(struct format_event_splits *splits, size_t here);
/*
 * The same of a plane of the payloads of `size` bytes at `at`. Planes that are one byte throughout, as most are, have no border
 * between them: a block of zstd for each takes more time than they do.
 */
void format_event_splits_plane(struct format_event_splits *splits, const uint8_t *raw, size_t at, size_t size);
/* The same splits as format_event_batch_encode gave for these encoded bytes; none if they are not right. */
void format_event_splits_find(const uint8_t *raw, size_t size, size_t events, struct format_event_splits *splits);

struct format_event_context {
	uint32_t cpu;
	uint32_t pid;
	uint32_t tid;
};

/* Guesses, by a hash: numbers plus one, or 0. Threads and kinds of events come again soon. */
struct format_event_guesses {
	uint32_t descriptors[FORMAT_RECENT_DESCRIPTORS], contexts[FORMAT_RECENT_CONTEXTS];
};

/* Events on their way into one buffer. Zero-initialised is empty. */
struct format_event_batch {
	struct format_event_row *rows;
	size_t count;
	size_t capacity; /* of rows */
	struct format_batch_descriptor *descriptors;
	size_t descriptor_count;
	struct format_event_context *contexts;
	size_t context_count;
	struct ptl_guid *guids;
	size_t guid_count;
	struct common_byte_map descriptor_map, context_map, guid_map;
	struct format_event_guesses *guesses; /* once there is an event: most streams of very many wait for one */
	struct ptl_bytes payloads;
	struct ptl_bytes extras;
	size_t extra_count;
	size_t last_extra;    /* event of the last extra */
	uint64_t start, time; /* of the first and the last event that was added */
	uint64_t steps;       /* all bits of the steps between */
	uint64_t first_time, last_time;
	size_t expected_events, expected_bytes; /* of payloads, as in the batch before; set by the caller, or 0 */
};

/* What many events have in common whose payloads are pieces of records, in this order. */
struct format_event_piece {
	uint32_t offset, size;
};

struct format_event_kind {
	struct ptl_descriptor descriptor;
	const struct format_event_piece *pieces;
	size_t piece_count;
	size_t payload_size; /* of all pieces; at most PTL_PAYLOAD_MAX */
	size_t record_size;  /* that a record has at least */
};

/* An event of which nothing else is to be said: no flags, no extended items. */
struct format_event_record {
	const struct format_event_kind *kind;
	uint64_t time;
	struct format_event_context context;
	const uint8_t *data; /* the record: kind->record_size bytes, or more */
};

/* PTL_MISUSE for an event beyond the bounds, PTL_NO_MEMORY; the batch is unchanged then. */
int format_event_batch_add(struct format_event_batch *batch, const struct ptl_event *event);
/*
 * Adds the same of records, until the batch has this size or there are no more; how many it were, which is none only where there
 * is no memory.
 */
size_t format_event_batch_add_records(struct format_event_batch *batch, const struct format_event_record *records,
				      size_t count, size_t size);
/* Columns take at most 8 + 4 + 4 bytes an event, the size of a varying payload 3. */
#define FORMAT_EVENT_ROW_MAX 19
/* An upper bound of the encoded size; asked with each event. */
static inline size_t format_event_batch_size(const struct format_event_batch *batch)
{
	return batch->payloads.size + batch->extras.size + batch->count * FORMAT_EVENT_ROW_MAX +
	       batch->guid_count * 16 + batch->descriptor_count * 36 + batch->context_count * 15 + 64;
}
/* Appends the payload; the batch has at least one event. A failed allocation stays in out. */
void format_event_batch_encode(const struct format_event_batch *batch, struct ptl_bytes *out,
			       struct format_event_splits *splits);
void format_event_batch_free(struct format_event_batch *batch);

/* Memory that is used again for the next buffer. */
struct format_block_memory {
	void *data;
	size_t size;
};

/* A decoded buffer. Zero-initialised is empty; may be filled again and again. */
struct format_event_block {
	struct format_block_row *rows;
	size_t count;
	struct ptl_descriptor *descriptors;
	struct format_event_context *contexts;
	uint8_t *payloads; /* of fixed layouts, as rows; others stay in the raw bytes */
	struct format_block_layout *layouts;
	const uint8_t *guids;
	size_t guid_count;
	struct format_block_memory row_memory, descriptor_memory, context_memory, payload_memory, layout_memory,
		extended_memory;
	/* Where format_event_block_next stands: */
	struct common_cursor extras;
	size_t extras_left;
	size_t extra_event; /* the event that the next extra belongs to */
	struct ptl_extended *extended;
	size_t next;
};

/*
 * Decodes and checks everything. raw must live as long as the block is used. PTL_CORRUPT,
 * PTL_NO_MEMORY: the block then has no events. Allocates at most 32 bytes an event, 64 a table
 * entry, and size.
 */
int format_event_block_decode(struct format_event_block *block, const uint8_t *raw, size_t size, size_t records,
			      uint64_t first_time, uint64_t last_time);
/*
 * Fills *event with the next event; false at the end. Its pointers are valid until the next call.
 * The activities are set only if the flags say that they are there.
 */
bool format_event_block_next(struct format_event_block *block, struct ptl_event *event);
/* The time of the event that comes next; there must be one. */
uint64_t format_event_block_time(const struct format_event_block *block);
void format_event_block_free(struct format_event_block *block);

/* Bytes of a column that holds numbers below n. */
static inline unsigned format_column_width(size_t n)
{
	return n <= 1 ? 0 : n <= 1u << 8 ? 1 : n <= 1u << 16 ? 2 : n <= 1u << 24 ? 3 : 4;
}

#endif
