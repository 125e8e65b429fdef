/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of one thread as a list in the order in which they began, with what is only known when they have ended. */
#ifndef DUMP_CALL_CALL_TREE_H
#define DUMP_CALL_CALL_TREE_H

#include "dump/call/call_record.h"
#include "dump/call/call_stack.h"

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
