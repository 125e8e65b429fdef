/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads of each CPU over time, from recorded context switches. */
#ifndef DUMP_EXPORT_TIMELINE_CPU_SLICE_H
#define DUMP_EXPORT_TIMELINE_CPU_SLICE_H

#include "analysis/usage/schedule.h"
#include "dump/run/calls.h"

/* Zero-initialise. */
struct dump_cpu_slices {
	const struct analysis_calls *calls;
	struct usage_schedule schedule;
	struct dump_cpu_row *rows; /* in the order of CPUs; owned */
	size_t count, capacity;
	struct common_hash_map by_cpu;
};

/*
 * Visits a span in which a thread was on the CPU. Times are on the trace's clock. Returns 0 or a negative ptl_status.
 */
typedef int dump_cpu_slice(void *context, uint64_t from, uint64_t to, const char *name);

/*
 * Reads the context switches of the selected CPUs. A trace without context switches has no rows. Returns the status of
 * usage_schedule_read. Call dump_cpu_slices_free in any case.
 */
int dump_cpu_slices_read(struct dump_cpu_slices *slices, const struct analysis_calls *calls);
/* Returns the CPU of row i. */
uint32_t dump_cpu_slices_cpu(const struct dump_cpu_slices *slices, size_t i);
/*
 * Visits the selected threads on the CPU of row i, in order of time; name: "gzip 4711/4712". Returns 0, the first
 * status of `visit` that is not 0, or PTL_NO_MEMORY.
 */
int dump_cpu_slices_visit(const struct dump_cpu_slices *slices, size_t i, dump_cpu_slice *visit, void *context);
void dump_cpu_slices_free(struct dump_cpu_slices *slices);

#endif
