/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts by a pair of addresses: edges and functions, in order of their first execution. */
#ifndef FLOW_DECODER_ROWS_H
#define FLOW_DECODER_ROWS_H

#include <ptl/decoder.h>

#include "common/row_index.h"

/* A pair that was found before. */
struct decoder_found_row {
	uint64_t from, to;
	uint32_t number; /* number of the row plus one; 0: unused */
};

#define DECODER_FOUND_SHIFT 12 /* log2 of the found rows */

/* Initialise with zeroes, then set `most`. */
struct decoder_rows {
	size_t most; /* maximum number of rows */
	struct ptl_decoder_edge *rows;
	uint32_t *counted; /* numbers of rows with a count */
	struct common_row_index index;
	struct decoder_found_row *found; /* direct-mapped */
	size_t row_count, row_capacity;
	size_t counted_count, counted_capacity;
	size_t first;  /* number of rows when the execution began */
	uint64_t lost; /* counts without a row in the current execution */
	bool no_memory;
};

/* Returns the row's number; adds a row for a new pair. COMMON_NO_ROW: too many rows, or no memory (`no_memory`). */
uint32_t decoder_rows_find(struct decoder_rows *rows, uint64_t from, uint64_t to);
/* Counts executions of the row. COMMON_NO_ROW counts as lost. */
void decoder_rows_count(struct decoder_rows *rows, uint32_t number, uint64_t count);
/* Begins an execution: all counts are 0. */
void decoder_rows_begin(struct decoder_rows *rows);
/* Ends the execution: adds the counts to the totals. */
void decoder_rows_end(struct decoder_rows *rows);
/* Drops the execution's counts and new rows. Returns whether rows were dropped: then their numbers are not valid. */
bool decoder_rows_drop(struct decoder_rows *rows);
size_t decoder_rows_memory(const struct decoder_rows *rows);
void decoder_rows_close(struct decoder_rows *rows);

#endif
