/* SPDX-License-Identifier: BSD-2-Clause */
/* A trace as perf record would have written it. */
#ifndef DUMP_EXPORT_PERF_PERF_DATA_H
#define DUMP_EXPORT_PERF_PERF_DATA_H

#include "dump/export/export.h"
#include "dump/session/session.h"

/*
 * Writes perf.data to a path, and the code of the trace to a build-id cache in a folder. What perf cannot have is added to
 * left_out. *guest: packets are of a virtual machine, for which perf needs an option. PTL_SYSTEM, PTL_NO_MEMORY, and what
 * ptl_process returns.
 */
int dump_perf_write(struct dump_session *session, const struct flow_timeline *timeline, const char *path,
		    const char *folder, struct dump_left_out *left_out, bool *guest);

#endif
