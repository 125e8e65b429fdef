/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums of calls by path: an observer of calls that builds a tree with a root for each group of threads. */
#ifndef ANALYSIS_CALL_CALL_PATH_H
#define ANALYSIS_CALL_CALL_PATH_H

#include "analysis/call/call_input.h"
#include "analysis/call/path_table.h"

/* What a root of the tree stands for. */
enum analysis_path_group {
	ANALYSIS_PATH_PROGRAM, /* a program, by file name: all its threads and processes */
	ANALYSIS_PATH_PROCESS, /* a process, which may run several programs */
	ANALYSIS_PATH_THREAD,
	ANALYSIS_PATH_ALL,
};

/* A path with the self values of its calls. Half a cache line. */
struct analysis_path_node {
	/* Layout of struct analysis_path_key: */
	uint32_t parent;   /* 0: parent of roots, and of the unused node 0 */
	uint32_t function; /* of a root: index in `roots` */

	uint64_t calls; /* calls with a known begin */
	uint64_t self_time;
	uint64_t self_instructions;
};

/* A group of threads with a common root. Members that differ within the group are FLOW_NONE, PTL_NO_ID or "". */
struct analysis_path_root {
	char *program; /* last component of the program's path; owned */
	uint32_t process, pid, tid, cpu;
	uint32_t node; /* node number in the tree of all threads; 0: no node yet */
};

/* Nodes in order of first use, which does not depend on the number of decoding threads. */
struct analysis_path_tree {
	struct analysis_path_node *nodes; /* owned; a parent precedes its children */
	size_t count, capacity;
	struct analysis_path_table by_path; /* all nodes except roots */
};

/* Position of a piece's path. */
struct analysis_path_place {
	uint64_t node; /* as in frame->user */
	size_t depth;
};

struct analysis_paths {
	/* Set by the caller. */
	enum analysis_path_group group;
	const struct analysis_calls *calls;
	/* Limits of the tree; 0: a default. Calls beyond a limit are added to their callers. */
	size_t max_nodes;
	size_t max_depth;

	struct analysis_path_tree tree;
	struct analysis_path_root *roots; /* owned; indexed by group number */
	size_t root_count, root_capacity;
	struct common_byte_map root_names;
	uint64_t gaps;      /* gaps in the flow */
	uint64_t cut_calls; /* calls beyond max_nodes or max_depth */
	bool timed;         /* some calls have times */

	/* State of the current thread during the walk. */
	struct analysis_path_tree thread;
	uint32_t thread_group;
	uint32_t *stacks; /* root by stack number; 0: none yet; owned */
	size_t stack_capacity;
	uint32_t *belows; /* nodes that were roots until a frame was found below all other frames; owned */
	size_t below_count, below_capacity;
	uint32_t *renamed; /* by node: final function of calls that began in a stub, from 1; 0: unchanged; owned */
	size_t renamed_capacity;
	struct analysis_path_place *places; /* of the current piece; owned */
	size_t place_capacity;
};

/* The context is the paths. */
extern const struct analysis_call_observer analysis_paths_observer;
void analysis_paths_free(struct analysis_paths *paths);

/* Appends the name of a root, safe for a terminal: "gzip", "gzip (4711)", "gzip (4711/4712)", "cpu 3". */
void analysis_path_root_text(const struct analysis_paths *paths, uint32_t root, struct ptl_bytes *text);
/* Appends the name of a function; without a symbol, preceded by the name of its file. */
void analysis_path_function_text(const struct analysis_paths *paths, uint32_t function, struct ptl_bytes *text);

/* Numbers that an export assigns to functions. Zero-initialise; call analysis_path_numbers_close in any case. */
struct analysis_path_numbers {
	uint32_t *numbers; /* owned; 0: none yet; the last entry belongs to ANALYSIS_NO_FUNCTION */
	size_t count;
};

/* Allocates numbers for all functions of the paths. Returns 0 or PTL_NO_MEMORY. */
int analysis_path_numbers_open(struct analysis_path_numbers *numbers, const struct analysis_paths *paths);
void analysis_path_numbers_close(struct analysis_path_numbers *numbers);

static inline uint32_t *analysis_path_number(const struct analysis_path_numbers *numbers, uint32_t function)
{
	return &numbers->numbers[function < numbers->count ? function : numbers->count];
}

#endif
