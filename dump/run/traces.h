/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands over many traces, in turn. */
#ifndef DUMP_RUN_TRACES_H
#define DUMP_RUN_TRACES_H

#include "dump/run/command.h"

/*
 * Calls `take` for the run's trace and then for each further FILE. Each call gets a run of its own: trace, path
 * and resolved selection. Only one of the further traces is open at a time. Returns the first negative status of
 * `take`; else 0, or COMMON_EXIT_INPUT if a further trace is damaged, which has been reported.
 */
int dump_run_traces(struct dump_run *run, int (*take)(void *context, struct dump_run *run), void *context);

#endif
