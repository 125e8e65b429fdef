/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads of each CPU over time, from recorded context switches. */
#ifndef DUMP_EXPORT_TIMELINE_CPU_SLICE_H
#define DUMP_EXPORT_TIMELINE_CPU_SLICE_H

#include "dump/run/calls.h"

/*
 * Visits a span in which a thread was on the CPU. Times are on the trace's clock. Returns 0 or a negative ptl_status.
 */
typedef int dump_cpu_slice(void *context, uint64_t from, uint64_t to, const char *name);

/* Whether the trace has context switches of a selected CPU. */
bool dump_cpu_has_slices(const struct analysis_calls *calls, uint32_t cpu);
/*
 * Visits the selected threads on the CPU, in order of time; name: "gzip 4711/4712". Returns 0, the first status of
 * `visit` that is not 0, or PTL_NO_MEMORY.
 */
int dump_cpu_slices(const struct analysis_calls *calls, uint32_t cpu, dump_cpu_slice *visit, void *context);

#endif
