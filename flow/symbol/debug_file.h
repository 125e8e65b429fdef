/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables made from the DWARF of one ELF file. */
#ifndef FLOW_SYMBOL_DEBUG_FILE_H
#define FLOW_SYMBOL_DEBUG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/reader.h>

#include "flow/symbol/line_table.h"
#include "flow/symbol/scope_table.h"

struct flow_debug {
	struct flow_line_table *lines;   /* never NULL */
	struct flow_scope_table *scopes; /* NULL: not wanted, or no scopes */
	char *missing; /* owned; name of a missing file to which the DWARF refers; NULL: no file is missing */
	struct flow_debug_open *open; /* owned; open files from which scopes are read; NULL: no open files */
};

/*
 * Read debug information from an ELF file, in memory allocated by malloc, or open on disk (fd -1: no file). The
 * functions take ownership of data or fd in any case, and keep the file while scopes may be read from it. image: path
 * of the file at the time of its mapping; NULL: unknown. A file shared by several debug files (dwz, .gnu_debugaltlink)
 * is searched among the trace's attachments (NULL: no trace), then on disk. The .dwo files of split DWARF are searched
 * in the same way. Return NULL if no lines can be read.
 */
struct flow_debug *flow_debug_from_memory(struct ptl_trace *trace, uint8_t *data, size_t size, const char *image,
					  bool scopes);
struct flow_debug *flow_debug_from_file(struct ptl_trace *trace, int fd, const char *image, bool scopes);
/* Makes debug information from lines only. */
struct flow_debug *flow_debug_of_lines(const struct elf_line *lines, size_t count);
void flow_debug_free(struct flow_debug *debug);

#endif
