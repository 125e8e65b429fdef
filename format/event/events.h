/* SPDX-License-Identifier: BSD-2-Clause */
/* The payload of an EVENTS buffer (docs/format.md 6): a batch for encoding, and a decoded block. */
#ifndef FORMAT_EVENT_EVENTS_H
#define FORMAT_EVENT_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/event.h>

#include "common/bytes.h"
#include "common/hash_map.h"

#define FORMAT_EVENTS_MAX (1u << 20) /* most events of a buffer */
#define FORMAT_EXTENDED_MAX 1024     /* most extended items of an event */
/* Most bytes of an event's extended items together that the writer accepts. */
#define FORMAT_EXTENDED_BYTES_MAX (1u << 20)
#define FORMAT_EVENT_FLAGS (PTL_EVENT_HAS_ACTIVITY | PTL_EVENT_HAS_RELATED | PTL_EVENT_INJECTED)

/* Offsets in the encoded bytes at which statistics change, for the compressor. */
#define FORMAT_EVENT_SPLITS_MAX 64
struct format_event_splits {
	size_t at[FORMAT_EVENT_SPLITS_MAX];
	size_t count;
	bool is_level; /* the last plane had one byte value throughout */
};

#define FORMAT_RECENT_DESCRIPTORS 16
#define FORMAT_RECENT_CONTEXTS 1024

/* Marks a change of statistics at offset `here`, unless the last mark is close. */
void format_event_splits_add(struct format_event_splits *splits, size_t here);
/*
 * As format_event_splits_add, for a plane of payloads: `size` bytes at offset `at`. Two adjacent planes that each have
 * one byte value throughout, as most planes do, get no mark, as a zstd block for each takes more time than the planes
 * themselves.
 */
void format_event_splits_plane(struct format_event_splits *splits, const uint8_t *raw, size_t at, size_t size);
/*
 * Finds the splits that format_event_batch_encode returned for these encoded bytes. No splits if the bytes are invalid.
 */
void format_event_splits_find(const uint8_t *raw, size_t size, size_t events, struct format_event_splits *splits);

struct format_event_context {
	uint32_t cpu;
	uint32_t pid;
	uint32_t tid;
};

/* Cache by hash of number plus one (0: empty), since threads and kinds of events soon repeat. */
struct format_event_guesses {
	uint32_t descriptors[FORMAT_RECENT_DESCRIPTORS], contexts[FORMAT_RECENT_CONTEXTS];
};

/* A batch of events to be encoded into one buffer. A zero-initialised batch is empty. */
struct format_event_batch {
	struct format_event_row *rows;
	size_t count;
	size_t capacity; /* number of rows allocated */
	struct format_batch_descriptor *descriptors;
	size_t descriptor_count;
	struct format_event_context *contexts;
	size_t context_count;
	struct ptl_guid *guids;
	size_t guid_count;
	struct common_byte_map descriptor_map, context_map, guid_map;
	struct format_event_guesses *guesses; /* allocated at the first event, as many streams may have none */
	struct ptl_bytes payloads;
	struct ptl_bytes extras;
	size_t extra_count;
	size_t last_extra;    /* index of the last event with an extra */
	uint64_t start, time; /* times of the first and last event in order of addition */
	uint64_t steps;       /* OR of the steps of all rows */
	uint64_t first_time, last_time;
	/* events and payload bytes of the preceding batch, for preallocation; set by the caller, or 0 */
	size_t expected_events, expected_bytes;
};

/* A kind of events whose payloads are composed of pieces of records, in this order. */
struct format_event_piece {
	uint32_t offset, size;
};

struct format_event_kind {
	struct ptl_descriptor descriptor;
	const struct format_event_piece *pieces;
	size_t piece_count;
	size_t payload_size; /* total of all pieces; at most PTL_PAYLOAD_MAX */
	size_t record_size;  /* least size of a record */
};

/* An event without flags and extended items, given by a record. */
struct format_event_record {
	const struct format_event_kind *kind;
	uint64_t time;
	struct format_event_context context;
	const uint8_t *data; /* the record: at least kind->record_size bytes */
};

/* Adds an event. PTL_MISUSE for an event that exceeds a limit, PTL_NO_MEMORY; the batch is unchanged on failure. */
int format_event_batch_add(struct format_event_batch *batch, const struct ptl_event *event);
/*
 * Adds events given by records, until the batch has `size` bytes or no records are left. Returns how many were added; 0
 * only without memory.
 */
size_t format_event_batch_add_records(struct format_event_batch *batch, const struct format_event_record *records,
				      size_t count, size_t size);
/* Most bytes of an event in columns: 8 + 4 + 4, and 3 for the size of a varying payload. */
#define FORMAT_EVENT_ROW_MAX 19
/* Returns an upper bound of the encoded size, fast enough to be called for every event. */
static inline size_t format_event_batch_size(const struct format_event_batch *batch)
{
	return batch->payloads.size + batch->extras.size + batch->count * FORMAT_EVENT_ROW_MAX +
	       batch->guid_count * 16 + batch->descriptor_count * 36 + batch->context_count * 15 + 64;
}
/* Encodes the batch, which must have an event, and appends the bytes. Failures are recorded in out->failed. */
void format_event_batch_encode(const struct format_event_batch *batch, struct ptl_bytes *out,
			       struct format_event_splits *splits);
void format_event_batch_free(struct format_event_batch *batch);

/* Memory that is reused for the next buffer. */
struct format_block_memory {
	void *data;
	size_t size;
};

/* A decoded buffer. A zero-initialised block is empty and can be filled repeatedly. */
struct format_event_block {
	struct format_block_row *rows;
	size_t count;
	struct ptl_descriptor *descriptors;
	struct format_event_context *contexts;
	uint8_t *payloads; /* payloads of fixed layouts, as rows; other payloads stay in the raw bytes */
	struct format_block_layout *layouts;
	const uint8_t *guids;
	size_t guid_count;
	struct format_block_memory row_memory, descriptor_memory, context_memory, payload_memory, layout_memory,
		extended_memory;
	/* Position of format_event_block_next: */
	struct common_cursor extras;
	size_t extras_left;
	size_t extra_event; /* index of the event with the next extra */
	struct ptl_extended *extended;
	size_t next;
};

/*
 * Decodes and checks a whole buffer. `raw` must outlive the block's use. PTL_CORRUPT, PTL_NO_MEMORY: the block is empty
 * then. Allocates at most 32 bytes per event, 64 bytes per table entry, and `size` bytes.
 */
int format_event_block_decode(struct format_event_block *block, const uint8_t *raw, size_t size, size_t records,
			      uint64_t first_time, uint64_t last_time);
/*
 * Fills *event with the next event; false at the end. The event's pointers are valid until the next call. The
 * activities are set only if the flags say so.
 */
bool format_event_block_next(struct format_event_block *block, struct ptl_event *event);
/* Returns the time of the next event, which must exist. */
uint64_t format_event_block_time(const struct format_event_block *block);
void format_event_block_free(struct format_event_block *block);

/* Returns the width in bytes of a column of numbers below n. */
static inline unsigned format_column_width(size_t n)
{
	return n <= 1 ? 0 : n <= 1u << 8 ? 1 : n <= 1u << 16 ? 2 : n <= 1u << 24 ? 3 : 4;
}

#endif
