/* SPDX-License-Identifier: BSD-2-Clause */
/* What CPUs ran, from recorded context switches. */
#ifndef DUMP_EXPORT_TIMELINE_CPU_SLICE_H
#define DUMP_EXPORT_TIMELINE_CPU_SLICE_H

#include "dump/call/call_session.h"

/* A thread was on the CPU: times of the trace's clock. 0 or a negative ptl_status. */
typedef int dump_cpu_slice(void *context, uint64_t from, uint64_t to, const char *name);

/* Whether switches of a CPU that is asked for were recorded. */
bool dump_cpu_has_slices(const struct dump_call_session *calls, uint32_t cpu);
/* Visits what ran there of what the session's options select, in order of time: "gzip 4711/4712". What visit returns; PTL_NO_MEMORY. */
int dump_cpu_slices(const struct dump_call_session *calls, uint32_t cpu, dump_cpu_slice *visit, void *context);

#endif
