/* SPDX-License-Identifier: BSD-2-Clause */
/* What each path of calls took: an observer of calls that adds up a tree of all of them, a root for each group of threads. */
#ifndef DUMP_CALL_CALL_PATH_H
#define DUMP_CALL_CALL_PATH_H

#include "dump/call/call_session.h"
#include "dump/call/path_table.h"

/* What has a root of its own. */
enum dump_path_group {
	DUMP_PATH_PROGRAM, /* a program, by the name of its file: its threads and processes together */
	DUMP_PATH_PROCESS, /* a process, which may run several programs */
	DUMP_PATH_THREAD,
	DUMP_PATH_ALL,
};

/* What calls by a path took, without what they called. Half a cache line. */
struct dump_path_node {
	/* A struct dump_path_key: */
	uint32_t parent;   /* 0: it is a root, or is node 0, which stands for all */
	uint32_t function; /* of a root its number in `roots` */

	uint64_t calls; /* that were seen */
	uint64_t self_time;
	uint64_t self_instructions;
};

/* Threads that are shown as one. The members that say nothing for all of them are FLOW_NONE, PTL_NO_ID or "". */
struct dump_path_root {
	char *program; /* the last component of its path; owned */
	uint32_t process, pid, tid, cpu;
	uint32_t node; /* in the tree of all; 0: none yet */
};

/* Nodes in the order in which they were first entered, which no number of threads that decode changes. */
struct dump_path_tree {
	struct dump_path_node *nodes; /* owned; a parent is before its children */
	size_t count, capacity;
	struct dump_path_table by_path; /* but for roots */
};

/* Where a path of a piece is. */
struct dump_path_place {
	uint64_t node; /* as in a frame's `user` */
	size_t depth;
};

struct dump_paths {
	/* Set by the caller. */
	enum dump_path_group group;
	const struct dump_call_session *calls;
	/* What calls beyond these took is added to their callers; 0: a default. */
	size_t max_nodes;
	size_t max_depth;

	struct dump_path_tree tree;
	struct dump_path_root *roots; /* owned; by the number of the group */
	size_t root_count, root_capacity;
	struct common_byte_map root_names;
	uint64_t gaps;      /* stretches of flow that are missing */
	uint64_t cut_calls; /* calls beyond max_nodes or max_depth */
	bool timed;         /* some of it has times */

	/* Of the thread at hand, while the flow is walked. */
	struct dump_path_tree thread;
	uint32_t thread_group;
	uint32_t *stacks; /* root of each of its stacks; 0: none yet; owned */
	size_t stack_capacity;
	uint32_t *belows; /* nodes that were roots until a frame was found below all others; owned */
	size_t below_count, below_capacity;
	uint32_t *
		renamed; /* by node: the function that calls of it turned out to be, counted from 1; 0: none did; owned */
	size_t renamed_capacity;
	struct dump_path_place *places; /* of the piece at hand; owned */
	size_t place_capacity;
};

/* Its context is the paths. */
extern const struct dump_call_observer dump_paths_observer;
void dump_paths_free(struct dump_paths *paths);

/* Appends the name of a root: "gzip", "gzip (4711)", "gzip (4711/4712)", "cpu 3"; safe for a terminal. */
void dump_path_root_text(const struct dump_paths *paths, uint32_t root, struct ptl_bytes *text);
/* Appends the name of a function, with the name of its file before it where it has no symbol. */
void dump_path_function_text(const struct dump_paths *paths, uint32_t function, struct ptl_bytes *text);

/* What an export calls functions, by their own numbers. Zero-initialise; close in any case. */
struct dump_path_numbers {
	uint32_t *numbers; /* owned; 0: none yet; the last one is of DUMP_NO_FUNCTION */
	size_t count;
};

/* For all functions that the paths have. PTL_NO_MEMORY. */
int dump_path_numbers_open(struct dump_path_numbers *numbers, const struct dump_paths *paths);
void dump_path_numbers_close(struct dump_path_numbers *numbers);

static inline uint32_t *dump_path_number(const struct dump_path_numbers *numbers, uint32_t function)
{
	return &numbers->numbers[function < numbers->count ? function : numbers->count];
}

#endif
