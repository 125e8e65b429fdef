/* SPDX-License-Identifier: BSD-2-Clause */
/* Who calls a function, and what it calls: trees of paths through it, with what the calls took. */
#ifndef DUMP_CALL_CALL_GRAPH_H
#define DUMP_CALL_CALL_GRAPH_H

#include "dump/call/call_session.h"

/* Of the callees' tree: calls by that path. Of the callers': what the function took when it was called by that path. */
struct dump_graph_node {
	uint64_t calls;
	uint64_t total_time;
	uint64_t self_time;
	uint64_t total_instructions;
	uint64_t self_instructions;
	uint32_t function;
	uint32_t parent;
	uint32_t depth;
	/* Where the walk last added to its span: index, of which stack and program. */
	uint32_t span, span_stack, span_program;
};

/* What a node has of outermost calls on one stack of the thread at hand. */
struct dump_graph_span {
	uint64_t time, instructions;
	uint64_t key;  /* the stack in the high half, the node in the low half */
	uint32_t next; /* of the same stack */
};

/* Nodes in the order in which they were met; the first is the function itself. */
struct dump_graph_tree {
	struct dump_graph_node *nodes; /* owned */
	size_t count, capacity;
	struct common_hash_map by_path; /* node by parent and function */
};

struct dump_graph {
	struct dump_matches matches; /* set by the caller */
	uint64_t max_depth;          /* set by the caller; 0: all */
	struct dump_graph_tree callers;
	struct dump_graph_tree callees;
	struct dump_graph_span *spans; /* owned */
	size_t span_count, span_capacity;
	struct common_hash_map span_of;  /* index by key */
	struct common_hash_map of_stack; /* the last span of a stack */
	uint32_t program;                /* counts programs of all threads: each begins with new stacks */
	bool timed;
};

/* Its context is the graph. */
extern const struct dump_call_observer dump_graph_observer;
void dump_graph_free(struct dump_graph *graph);

/*
 * The nodes of a tree in the order in which they are shown: behind each what is below it, largest first. The caller
 * frees the array of their numbers; PTL_NO_MEMORY.
 */
int dump_graph_order(const struct dump_graph *graph, const struct dump_graph_tree *tree, uint32_t **order);

#endif
