/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of calls in the order of their begin: a list that may exceed memory. */
#ifndef ANALYSIS_CALL_CALL_RECORD_H
#define ANALYSIS_CALL_CALL_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of records. */
#define ANALYSIS_RECORD_CALL 0
#define ANALYSIS_RECORD_STACK 1 /* the thread switches to another stack */
#define ANALYSIS_RECORD_EVENT 2 /* events were written here */

struct analysis_call_record {
	uint64_t start; /* trace clock; 0 unknown */
	union {
		struct {
			uint64_t wall; /* nanoseconds; like the members below, the sum over all repeats */
			uint64_t self_time;
		};
		struct {                       /* while the call is unfinished: */
			uint64_t shape_before; /* shape without the last call of this call */
			uint64_t last;         /* record of the last call; 0: none */
		};
	};
	uint64_t instructions;
	uint64_t self_instructions;
	uint64_t children; /* number of direct calls */
	uint64_t repeats;  /* number of merged consecutive calls, which were alike including all their calls */
	union {
		/* hash of function and calls; while the call is unfinished, of its calls so far */
		uint64_t shape;
		const uint8_t *lines; /* of an event record */
	};
	uint64_t end;      /* index of the record after its last callee; 0: unfinished */
	uint32_t function; /* of an event record: length of `lines` in bytes */
	int32_t depth;     /* 0: first outermost frame of the stack; negative: frames found below later */
	uint32_t stack;
	uint16_t flags; /* ANALYSIS_CALL_* */
	uint8_t kind;
	bool hidden; /* only the record's place is displayed */
};

/* State that unpacking a record depends on. */
struct analysis_packed_before {
	uint64_t start;
	int32_t depth;
	uint32_t stack;
};

/* A record that may still change, so it is stored unpacked. */
struct analysis_kept_record {
	struct analysis_call_record record;
	size_t index;
	uint64_t at; /* packed bytes before the record; `before`: state after these bytes */
	struct analysis_packed_before before;
	bool needed; /* during packing: the last call of an unfinished call */
};

/*
 * Records in order. All but the last few thousand are packed (analysis/call/call_pack.h); beyond some size, packed bytes go
 * to a temporary file. Zero-initialised: empty. First, add records by the functions below; then complete the list; then
 * read.
 * Among packed records, only these may be changed: unfinished calls, their last calls (`last`), and a change of stacks
 * directly before an unfinished call. Unfinished calls may also be cut off. A call is unfinished until its `end` is
 * set.
 */
struct analysis_record_list {
	struct analysis_call_record *records; /* records from `packed` on; of an expanded list: all */
	size_t count, capacity;
	size_t packed;                     /* records before this index are packed or kept */
	struct analysis_kept_record *kept; /* sorted by index; owned */
	size_t kept_count, kept_capacity;
	size_t *active; /* indexes in `kept` of records that may still change, sorted; owned */
	size_t active_count, active_capacity;
	uint8_t *bytes; /* packed records after those in the file; owned */
	size_t byte_count, byte_capacity;
	uint64_t filed; /* bytes of packed records in the file */
	struct analysis_packed_before before;
	int fd;
	bool has_file;
	uint8_t *map; /* of a complete list: the mapped file, or all records unpacked */
	size_t map_size;
	size_t kept_map_size; /* size of the mapped file of kept records in bytes; 0: in memory */
	bool mapped;          /* `records` points into `map` */
};

struct analysis_call_record *analysis_record_list_find(const struct analysis_record_list *list, size_t index);

/*
 * Returns a record to change, while the list is being made; NULL if the record may not change. The pointer is valid
 * until the next record is added.
 */
static inline struct analysis_call_record *analysis_record_list_at(const struct analysis_record_list *list,
								   size_t index)
{
	return index >= list->packed ? &list->records[index - list->packed] : analysis_record_list_find(list, index);
}

/* Adds an uninitialised record. The record before must be complete. Returns NULL after a failure. */
struct analysis_call_record *analysis_record_list_add(struct analysis_record_list *list);
/* Removes the records from `index` on. Record `index` must be an unfinished call or belong to the last records. */
void analysis_record_list_cut(struct analysis_record_list *list, size_t index);
/* Completes the list: no further record may be added. Returns 0, PTL_NO_MEMORY or PTL_SYSTEM. */
int analysis_record_list_complete(struct analysis_record_list *list);
/*
 * Unpacks all records of a complete list to `records`, for random access. in_file: always uses a file. Returns 0,
 * PTL_NO_MEMORY or PTL_SYSTEM.
 */
int analysis_record_list_expand(struct analysis_record_list *list, bool in_file);
void analysis_record_list_free(struct analysis_record_list *list);

/* Reads a complete list that is not expanded, in order. Set `list`, zero the other members. */
struct analysis_record_reader {
	const struct analysis_record_list *list;
	size_t index; /* of the next record */
	size_t kept;
	uint64_t at, passed;
	struct analysis_packed_before before;
	struct analysis_call_record record;
};

/* Returns the next record; NULL at the end. The record is valid until the next call. */
const struct analysis_call_record *analysis_record_next(struct analysis_record_reader *reader);

#endif
