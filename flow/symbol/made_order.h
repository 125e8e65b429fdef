/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions made by a process, in order: the start time and the layer of each function. */
#ifndef FLOW_SYMBOL_MADE_ORDER_H
#define FLOW_SYMBOL_MADE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/jit_names.h"
#include "flow/symbol/made_history.h"

#define FLOW_MADE_UNKNOWN UINT64_MAX /* unknown time */

struct flow_made_function {
	size_t symbol;        /* index in the names */
	uint64_t first, last; /* addresses, both inclusive */
	uint64_t after, time; /* the file got the function in (after, time]; FLOW_MADE_UNKNOWN */
	uint64_t start;       /* first time of the function; 0: beginning of the trace */
	uint64_t until;       /* latest possible start, during the search of starts */
	uint64_t next;        /* earliest time of a function above this function */
	uint32_t layer;
	bool is_visible; /* the function names its addresses at some time */
	size_t first_line, line_count;
	size_t first_before, before_count; /* earlier functions directly below */
};

/* Functions of a process. Zero-initialised: empty. */
struct flow_made_order {
	uint32_t pid;
	struct flow_made_function *list;
	size_t count, capacity;
	size_t *before; /* indexes in `list` */
	size_t before_count, before_capacity;
	size_t replaced; /* number of functions replaced by later functions at an unknown time */
};

/*
 * Lists the functions. Requests the changes of memory of each function above an earlier function. times: by symbol.
 * Equal functions of two files become a single function. PTL_NO_MEMORY.
 */
int flow_made_order_begin(struct flow_made_order *order, const struct elf_jit_names *names,
			  const struct elf_made_place *times, struct flow_made_history *history);
/*
 * Finds starts and layers:
 * - A function with an exact time starts at the time.
 * - A function written between two times starts with a change of the memory after the first time, or else at the second
 *   time.
 * - Functions over the same memory with an unknown or equal time take changes in reverse order: the last function gets
 *   the last change.
 * The history has been read; NULL: no changes are known. PTL_NO_MEMORY.
 */
int flow_made_order_settle(struct flow_made_order *order, struct flow_made_history *history);
void flow_made_order_free(struct flow_made_order *order);

#endif
