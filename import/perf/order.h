/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sorts records by time. perf copies its ring buffers, one per CPU or thread, one ring after the other. FINISHED_ROUND
 * follows when all rings were copied. After a FINISHED_ROUND, no record is older than the newest record before the
 * previous FINISHED_ROUND.
 */
#ifndef IMPORT_PERF_ORDER_H
#define IMPORT_PERF_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "import/perf/attr.h"

/* A waiting record; its body follows in memory. */
struct perf_waiting {
	struct perf_record record;
	struct perf_sample sample; /* pointers into the record are invalid */
	size_t body;
	uint64_t time;
	uint64_t arrival;
};

/* Zero-initialised: empty. */
struct perf_order {
	struct perf_waiting **heap;
	size_t count;
	size_t capacity;
	size_t bytes;
	uint64_t arrivals;
	uint64_t newest;        /* newest time of all records */
	uint64_t newest_before; /* newest time at the last FINISHED_ROUND */
	uint64_t due;           /* all records up to this time have arrived */
	uint64_t forced;        /* records that were released early, because too many waited */
};

void perf_order_free(struct perf_order *order);

/* Adds a copy of a kernel record that has a time. Returns PTL_NO_MEMORY. */
int perf_order_push(struct perf_order *order, const struct perf_record *record, const struct perf_sample *sample,
		    size_t body);

/* Call for a FINISHED_ROUND record; for the end of the file. */
void perf_order_round(struct perf_order *order);
void perf_order_end(struct perf_order *order);

/* Returns the next due record, which the caller frees; NULL: no due record. */
struct perf_waiting *perf_order_pop(struct perf_order *order);

#endif
