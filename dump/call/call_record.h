/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of calls in the order in which these began: a list that may be larger than memory. */
#ifndef DUMP_CALL_CALL_RECORD_H
#define DUMP_CALL_CALL_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a record is of. */
#define DUMP_RECORD_CALL 0
#define DUMP_RECORD_STACK 1 /* the thread goes over to another stack */
#define DUMP_RECORD_EVENT 2 /* events were written here */

struct dump_call_record {
	uint64_t start; /* trace clock; 0 unknown */
	union {
		struct {
			uint64_t wall; /* nanoseconds; these are sums over all repeats */
			uint64_t self_time;
		};
		struct {                       /* while the call goes on: */
			uint64_t shape_before; /* without the last call that it has made */
			uint64_t last;         /* record of that; 0: none */
		};
	};
	uint64_t instructions;
	uint64_t self_instructions;
	uint64_t children; /* calls of its own */
	uint64_t repeats;  /* calls that followed each other, and were alike with all they called */
	union {
		uint64_t shape;       /* hash of function and calls; while the call goes on, of what there is */
		const uint8_t *lines; /* of an event */
	};
	uint64_t end;      /* the record behind its last call */
	uint32_t function; /* of an event: the length of its lines */
	int32_t depth;     /* 0: the outermost frame that the stack had when it began; less: found below later */
	uint32_t stack;
	uint16_t flags; /* DUMP_CALL_* */
	uint8_t kind;
	bool hidden; /* only its place is reported */
};

/* What a packed record builds upon. */
struct dump_packed_before {
	uint64_t start;
	int32_t depth;
	uint32_t stack;
};

/* A record that could not be packed when those around it were, since it may change yet. */
struct dump_kept_record {
	struct dump_call_record record;
	size_t index;
	uint64_t at; /* bytes packed before it, and what they end with */
	struct dump_packed_before before;
	bool needed; /* while the list packs: the last call of one that goes on */
};

/*
 * Records in order, of which all but the last some thousand are packed (dump/call/call_pack.h), and from some size on in a
 * temporary file. Zero-initialised is empty. A list is made first, by the functions below, then completed, and then read.
 *
 * Of packed records those may be changed that are calls which go on, their last calls (`last`), and a change of stacks before
 * one of them; and calls that go on may be cut off. A call goes on until its `end` is set.
 */
struct dump_record_list {
	struct dump_call_record *records; /* from `packed` on; of a list that is expanded: all */
	size_t count, capacity;
	size_t packed;                 /* records before this one are packed or kept */
	struct dump_kept_record *kept; /* in order; owned */
	size_t kept_count, kept_capacity;
	size_t *active; /* those of `kept` that may change yet, in order; owned */
	size_t active_count, active_capacity;
	uint8_t *bytes; /* owned: packed records, behind those in the file */
	size_t byte_count, byte_capacity;
	uint64_t filed; /* bytes of packed records in the file */
	struct dump_packed_before before;
	int fd;
	bool has_file;
	uint8_t *map; /* of a list that is complete: the file, or all records in full */
	size_t map_size;
	size_t kept_map_size; /* kept records are in a file of their own; 0: they are in memory */
	bool mapped;          /* `records` are in `map` */
};

struct dump_call_record *dump_record_list_find(const struct dump_record_list *list, size_t index);

/* Only while the list is made; NULL: the record may not be changed. The pointer is good until the next record is added. */
static inline struct dump_call_record *dump_record_list_at(const struct dump_record_list *list, size_t index)
{
	return index >= list->packed ? &list->records[index - list->packed] : dump_record_list_find(list, index);
}

/* A record more, of which nothing is set; NULL after a failure. The one before has been set. */
struct dump_call_record *dump_record_list_add(struct dump_record_list *list);
/* Forgets the records from index on: that of a call which goes on, or one of the last. */
void dump_record_list_cut(struct dump_record_list *list, size_t index);
/* Nothing is added any more. PTL_NO_MEMORY, PTL_SYSTEM. */
int dump_record_list_complete(struct dump_record_list *list);
/* Has all records of a complete list in `records`, in any order to be read. in_file: however few they are. */
int dump_record_list_expand(struct dump_record_list *list, bool in_file);
void dump_record_list_free(struct dump_record_list *list);

/* Reads a list that is complete, and not expanded, in order. Set list, and zero the rest. */
struct dump_record_reader {
	const struct dump_record_list *list;
	size_t index; /* of the next record */
	size_t kept;
	uint64_t at, passed;
	struct dump_packed_before before;
	struct dump_call_record record;
};

/* NULL: there is no more. Good until the next is asked for. */
const struct dump_call_record *dump_record_next(struct dump_record_reader *reader);

#endif
