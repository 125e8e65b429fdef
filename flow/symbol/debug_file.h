/* SPDX-License-Identifier: BSD-2-Clause */
/* What is taken of the DWARF of one ELF file. */
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
	struct flow_scope_table *scopes; /* NULL: not asked for, or there are none */
	char *missing; /* owned: a file that it refers to, which is not there; NULL: nothing is missing */
	struct flow_debug_open *open; /* owned: what scopes are read from; NULL: nothing is */
};

/*
 * From an ELF file in memory that malloc gave, or open on disk (-1: there is none). It is taken in any case, and kept as long as scopes
 * may be read from it. NULL where there are no lines, for whatever reason. A file that several debug files share (dwz, .gnu_debugaltlink) is looked for among the attachments of
 * the trace (NULL: none), then on disk; likewise the .dwo files of split DWARF. image is where the file was mapped; NULL: not known.
 */
struct flow_debug *flow_debug_from_memory(struct ptl_trace *trace, uint8_t *data, size_t size, const char *image,
					  bool scopes);
struct flow_debug *flow_debug_from_file(struct ptl_trace *trace, int fd, const char *image, bool scopes);
/* Of lines alone. */
struct flow_debug *flow_debug_of_lines(const struct elf_line *lines, size_t count);
void flow_debug_free(struct flow_debug *debug);

#endif
