/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads .etl files of Windows directly, for commands that show only what an .etl file contains. */
#ifndef DUMP_RUN_ETL_INPUT_H
#define DUMP_RUN_ETL_INPUT_H

#include "dump/run/command.h"

/*
 * Converts the .etl file of the run to a trace in an unnamed file in $TMPDIR, and opens the trace. Reports
 * unreadable parts, and sets run->damaged.
 * Errors: PTL_NOT_OURS (no .etl file), PTL_MISUSE (the output is the same file), or a status of the import or of
 * ptl_open_fd.
 */
int dump_etl_open(struct dump_run *run, const struct ptl_open_options *options);

#endif
