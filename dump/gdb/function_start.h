/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds blocks that begin a function whose name matches a pattern. */
#ifndef DUMP_GDB_FUNCTION_START_H
#define DUMP_GDB_FUNCTION_START_H

#include "flow/engine/flow.h"
#include "flow/symbol/symbol.h"
#include "query/function_near.h"

/* The wanted function. symbols: opened with or without demangling, as names are shown. */
struct dump_gdb_function {
	struct flow_symbols *symbols;
	const char *pattern;
};

/* Answers of earlier searches by address and image. Zero-initialised is empty. */
#define DUMP_GDB_FUNCTION_CACHE 512u
struct dump_gdb_function_cache {
	struct {
		uint64_t ip;
		uint32_t image;
		bool known, begins;
	} places[DUMP_GDB_FUNCTION_CACHE];
};

/* Returns whether the block begins a function with a wanted name. *failed: set without memory. */
bool dump_gdb_function_begins(const struct dump_gdb_function *function, struct dump_gdb_function_cache *cache,
			      const struct flow_block *block, bool *failed);

/* Considers the names of all functions of a process: for messages, if the function never began. */
void dump_gdb_functions_near(const struct dump_gdb_function *function, const struct flow_timeline *timeline,
			     uint32_t process, struct query_near *near);

#endif
