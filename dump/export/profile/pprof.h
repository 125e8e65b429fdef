/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes paths of calls as a profile for pprof. */
#ifndef DUMP_EXPORT_PROFILE_PPROF_H
#define DUMP_EXPORT_PROFILE_PPROF_H

#include "dump/export/path_run.h"

/*
 * Writes a sample for each path: calls, instructions and time (for sampled stacks: samples and periods), with process
 * and thread as labels. by_line: divides the instructions of a path into samples by line of its last function.
 */
int dump_pprof(struct dump_run *run, const struct dump_path_run *path_run, bool by_time, bool by_line,
	       struct dump_left_out *left_out);

#endif
