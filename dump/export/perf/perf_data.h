/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a trace as a file of perf record. */
#ifndef DUMP_EXPORT_PERF_PERF_DATA_H
#define DUMP_EXPORT_PERF_PERF_DATA_H

#include "dump/export/export.h"
#include "dump/run/run.h"

/*
 * Writes perf.data to a path, and the code of the trace to a build-id cache in a folder. Adds data that perf cannot
 * represent to left_out. *guest: packets come from a virtual machine, for which perf needs an option. Returns 0,
 * PTL_SYSTEM, PTL_NO_MEMORY, or a status of ptl_process.
 */
int dump_perf_write(struct dump_run *run, const struct flow_timeline *timeline, const char *path, const char *folder,
		    struct dump_left_out *left_out, bool *guest);

#endif
