/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Puts records in order of time. perf writes what its ring buffers, one for each CPU or thread, hold, one ring after
 * the other; FINISHED_ROUND says that all of them have been looked at. What a ring held then has no record that
 * is older than the newest one of the round before.
 */
#ifndef IMPORT_PERF_ORDER_H
#define IMPORT_PERF_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "import/perf/attr.h"

/* A record that waits, with its body behind it. */
struct perf_waiting {
	struct perf_record record;
	struct perf_sample sample; /* without what points into a record */
	size_t body;
	uint64_t time;
	uint64_t arrival;
};

/* Zero-initialised is empty. */
struct perf_order {
	struct perf_waiting **heap;
	size_t count;
	size_t capacity;
	size_t bytes;
	uint64_t arrivals;
	uint64_t newest;        /* time of all records so far */
	uint64_t newest_before; /* as of the last FINISHED_ROUND */
	uint64_t due;           /* up to here all are there */
	uint64_t forced;        /* records that were given out before their turn, as too many waited */
};

void perf_order_free(struct perf_order *order);

/* Copies a record of the kernel, which has a time. PTL_NO_MEMORY. */
int perf_order_push(struct perf_order *order, const struct perf_record *record, const struct perf_sample *sample,
		    size_t body);

/* A FINISHED_ROUND record; or the end of the file. */
void perf_order_round(struct perf_order *order);
void perf_order_end(struct perf_order *order);

/* The next record whose turn it is, to be freed by the caller; NULL: none. */
struct perf_waiting *perf_order_pop(struct perf_order *order);

#endif
