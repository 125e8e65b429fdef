/* SPDX-License-Identifier: BSD-2-Clause */
/* Source files of a trace for gdb. */
#ifndef DUMP_GDB_SOURCE_FILES_H
#define DUMP_GDB_SOURCE_FILES_H

#include <ptl/reader.h>

/*
 * Writes the source files of the trace to FOLDER/source/PATH, and adds their number to *written. A file that cannot be
 * written is missing in gdb. Returns PTL_NO_MEMORY or 0.
 */
int dump_gdb_sources_write(const char *folder, struct ptl_trace *trace, size_t *written);

#endif
