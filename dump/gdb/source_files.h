/* SPDX-License-Identifier: BSD-2-Clause */
/* Source files of a trace for gdb. */
#ifndef DUMP_GDB_SOURCE_FILES_H
#define DUMP_GDB_SOURCE_FILES_H

#include "dump/gdb/symbol_files.h"

/*
 * Writes the source files of the trace to FOLDER/source/PATH, and counts them in files->sources. A file that cannot be
 * written is missing in gdb. Returns PTL_NO_MEMORY or 0.
 */
int dump_gdb_sources_write(struct dump_gdb_files *files, struct ptl_trace *trace);

#endif
