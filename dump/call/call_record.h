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

/*
 * Records in memory, and from some size on in a temporary file, of which only what was touched last stays in memory.
 * Zero-initialised is empty. A list is made first, by the functions below, then completed, and then read.
 */
struct dump_record_list {
	struct dump_call_record *records; /* of a list that is complete: all; else those from `filed` on */
	size_t count, capacity;
	size_t filed; /* while it is made: records that are in the file */
	uint8_t *map; /* the file; NULL: there is none */
	size_t map_size;
	bool mapped; /* it is complete, and in the file */
	int fd;
};

/* Only while the list is made. The pointer is good until the next record is added. */
static inline struct dump_call_record *dump_record_list_at(const struct dump_record_list *list, size_t index)
{
	return index < list->filed ? (struct dump_call_record *)(void *)list->map + index
				   : &list->records[index - list->filed];
}

/* A record more, of which nothing is set; NULL after a failure. */
struct dump_call_record *dump_record_list_add(struct dump_record_list *list);
/* Forgets the records from index on. */
void dump_record_list_cut(struct dump_record_list *list, size_t index);
/* Nothing is added any more. in_file: all of it goes into a file, however short it is. PTL_NO_MEMORY, PTL_SYSTEM. */
int dump_record_list_complete(struct dump_record_list *list, bool in_file);
void dump_record_list_free(struct dump_record_list *list);

/*
 * To be called while a list is read in order: what lies well before a record is given back to the file. passed is 0 at first, and
 * remembers what was.
 */
void dump_record_list_pass(const struct dump_record_list *list, size_t index, size_t *passed);

#endif
