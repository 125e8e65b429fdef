/* SPDX-License-Identifier: BSD-2-Clause */
/* Times at which bytes changed, in memory with replaced functions. */
#ifndef FLOW_SYMBOL_MADE_HISTORY_H
#define FLOW_SYMBOL_MADE_HISTORY_H

#include <ptl/reader.h>

#include "common/hash_map.h"

/* Zero-initialised except the trace, which must outlive the structure. */
struct flow_made_history {
	struct ptl_trace *trace;
	struct common_hash_map pages; /* by process and page: index in `list` of the newest write, plus 1 */
	struct flow_made_write *writes;
	size_t write_count, write_capacity;
	struct flow_made_page *list; /* writes by page, each linked to the previous write of the page */
	size_t list_count, list_capacity;
	uint64_t bytes;  /* bytes of code in memory */
	uint64_t effort; /* bytes compared so far; above a limit, no more changes are found */
};

/* A change of the bytes in a range. */
struct flow_made_time {
	uint64_t time;
	uint64_t bytes; /* number of different bytes; at least 1 */
};

/* Requests the changes in a range. PTL_NO_MEMORY. */
int flow_made_history_want(struct flow_made_history *history, uint32_t pid, uint64_t first, uint64_t last);
/* Reads the trace once, if any range was requested. Returns PTL_NO_MEMORY, or the status of ptl_process. */
int flow_made_history_read(struct flow_made_history *history);
/*
 * Finds the changes in a requested range, sorted by time; the caller frees *changes. *known: whether code events have
 * bytes of the range. PTL_NO_MEMORY.
 */
int flow_made_history_changes(struct flow_made_history *history, uint32_t pid, uint64_t first, uint64_t last,
			      struct flow_made_time **changes, size_t *count, bool *known);
void flow_made_history_free(struct flow_made_history *history);

#endif
