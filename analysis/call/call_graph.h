/* SPDX-License-Identifier: BSD-2-Clause */
/* Callers and callees of a function: two trees of call paths through the function, with times and instructions. */
#ifndef ANALYSIS_CALL_CALL_GRAPH_H
#define ANALYSIS_CALL_CALL_GRAPH_H

#include "analysis/call/call_input.h"

/* A path. Callees' tree: calls by this path. Callers' tree: calls of the function by this path of callers. */
struct analysis_graph_node {
	uint64_t calls;
	uint64_t total_time;
	uint64_t self_time;
	uint64_t total_instructions;
	uint64_t self_instructions;
	uint32_t function;
	uint32_t parent;
	uint32_t depth;
	/* Cached index of the node's span, with the stack and program of the span. */
	uint32_t span, span_stack, span_program;
};

/* Totals of a node's outermost calls on one stack of the current thread. */
struct analysis_graph_span {
	uint64_t time, instructions;
	uint64_t key;  /* stack number in the high half, node number in the low half */
	uint32_t next; /* index of another span of the same stack */
};

/* Nodes in order of creation. The first node is the function itself. */
struct analysis_graph_tree {
	struct analysis_graph_node *nodes; /* owned */
	size_t count, capacity;
	struct common_hash_map by_path; /* node number by parent and function */
};

struct analysis_graph {
	struct analysis_matches matches; /* set by the caller */
	uint64_t max_depth;              /* set by the caller; 0: unlimited */
	struct analysis_graph_tree callers;
	struct analysis_graph_tree callees;
	struct analysis_graph_span *spans; /* owned */
	size_t span_count, span_capacity;
	struct common_hash_map span_of;  /* index in `spans` by key */
	struct common_hash_map of_stack; /* last span by stack */
	uint32_t program;                /* counts programs of all threads: each program begins with new stacks */
	bool timed;
};

/* The context is the graph. */
extern const struct analysis_call_observer analysis_graph_observer;
void analysis_graph_free(struct analysis_graph *graph);

/*
 * Lists the nodes of a tree in display order: each node before its children, largest child first. The caller frees
 * *order. Returns 0 or PTL_NO_MEMORY.
 */
int analysis_graph_order(const struct analysis_graph *graph, const struct analysis_graph_tree *tree, uint32_t **order);

#endif
