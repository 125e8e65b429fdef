/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands of gdb's "monitor": where the window lies, moving the window, gaps, events. */
#ifndef DUMP_GDB_MONITOR_H
#define DUMP_GDB_MONITOR_H

#include "dump/gdb/process.h"

/* The monitor function of the model; context is a struct dump_gdb_process. */
void dump_gdb_monitor(void *context, const char *command, struct ptl_bytes *text);

#endif
