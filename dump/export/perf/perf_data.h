/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes a trace as a file of perf record. */
#ifndef DUMP_EXPORT_PERF_PERF_DATA_H
#define DUMP_EXPORT_PERF_PERF_DATA_H

#include "dump/export/export.h"
#include "dump/run/run.h"

/* What was written. */
struct dump_perf_result {
	struct dump_left_out left_out; /* data that perf cannot represent, or that the options leave out */
	bool packets;                  /* the trace has Intel PT */
	bool guest;                    /* packets come from a virtual machine, for which perf needs an option */
	bool kernel;                   /* the trace has code of the kernel, which only kcore can describe */
};

/*
 * Writes perf.data to a path, and the code of the trace to a build-id cache in a folder. core: folder that gets kcore_dir,
 * with the code of the kernel; NULL: none. Returns 0, PTL_SYSTEM, PTL_NO_MEMORY, or a status of ptl_process.
 */
int dump_perf_write(struct dump_run *run, const struct flow_timeline *timeline, const char *path, const char *folder,
		    const char *core, struct dump_perf_result *result);

#endif
