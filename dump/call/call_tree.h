/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of one thread as a list in the order in which they began, with what is only known when they have ended. */
#ifndef DUMP_ANALYSIS_CALL_TREE_H
#define DUMP_ANALYSIS_CALL_TREE_H

#include "dump/call/call_stack.h"

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
 * Zero-initialised is empty.
 */
struct dump_record_list {
	struct dump_call_record *records;
	size_t count, capacity;
	size_t given_back; /* of the file: bytes from its beginning on that were */
	bool mapped;       /* in a file */
	int fd;
};

/*
 * To be called while a list is read in order: what lies well before a record is given back to the file. passed is 0 at first, and
 * remembers what was.
 */
void dump_record_list_pass(const struct dump_record_list *list, size_t index, size_t *passed);

/* Puts a list into a file that is in memory, where nothing is added to it any more. PTL_NO_MEMORY, PTL_SYSTEM. */
int dump_record_list_settle(struct dump_record_list *list);
void dump_record_list_free(struct dump_record_list *list);

struct dump_call_tree {
	/* Set by the caller. */
	uint64_t min_time;         /* calls that took less are left out, and are counted with their callers */
	uint64_t min_instructions; /* so too */
	size_t max_depth;          /* deeper calls are left out; 0: all are there */
	bool no_folding;
	/* The events of a thread that were written before a time, each reported once. NULL: none are wanted. */
	const uint8_t *(*events)(void *context, const struct dump_call_thread *thread, uint64_t time, size_t *size);
	/* All records of a thread, or of one of the programs it ran. */
	int (*show)(void *context, const struct dump_call_tree *tree, const struct dump_call_thread *thread);
	void *context;

	struct dump_record_list list;
	size_t kept; /* behind the last event or change of stack in the list: a call around it is not folded */
	struct dump_record_list below; /* frames found below the first ones, the outermost last */
	uint32_t *belows;              /* how many of them each stack has; owned */
	size_t belows_count;
};

/* What dump_calls_run tells; its context is the tree. */
extern const struct dump_call_observer dump_call_tree_observer;
void dump_call_tree_free(struct dump_call_tree *tree);

/* How deep a record's call is when all frames below it are known. */
size_t dump_record_level(const struct dump_call_tree *tree, const struct dump_call_record *record);

#endif
