/* SPDX-License-Identifier: BSD-2-Clause */
/* Source lines and functions of addresses, from DWARF in the trace, or from files on disk. */
#ifndef FLOW_SYMBOL_SOURCE_LINE_H
#define FLOW_SYMBOL_SOURCE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/symbol/line_table.h"
#include "flow/timeline/timeline.h"

struct flow_sources;

/*
 * Opens the sources. Debug information of an image is searched at the first request for an address of the image: in the
 * folders of elf_debug_path_add; in the trace; in the image's file, if the build id matches; and in the file's debug
 * file (elf/debug_search.h). A file with another build id is never used. All functions may be called from several
 * threads. trace and timeline must outlive the sources. Returns PTL_NO_MEMORY.
 */
int flow_sources_open(struct ptl_trace *trace, const struct flow_timeline *timeline, struct flow_sources **sources);
/* Requests scopes for flow_sources_scope. Must be called before any look-up. Scopes take time and memory. */
void flow_sources_want_scopes(struct flow_sources *sources);
void flow_sources_close(struct flow_sources *sources);

/* Stores the number of requested images, and of images with lines. */
void flow_sources_counts(struct flow_sources *sources, size_t *requested, size_t *found);
/*
 * Returns how many debug files refer to a missing file, so that names of inlined functions may be missing. *name: such
 * a missing file, valid as long as sources.
 */
size_t flow_sources_missing(struct flow_sources *sources, const char **name);

/*
 * Finds the source line of the instruction at address. Returns false if the line is unknown. *file is valid as long as
 * sources. image is an index in the timeline, or FLOW_NONE.
 */
bool flow_sources_find(struct flow_sources *sources, uint32_t image, uint64_t address, const char **file,
		       uint32_t *line);
/* As flow_sources_find, with the discriminator. */
bool flow_sources_line(struct flow_sources *sources, uint32_t image, uint64_t address, struct flow_line *line);

/* As flow_lines_begins, for an address of the image's file. */
bool flow_sources_begins(struct flow_sources *sources, uint32_t image, uint64_t address, uint32_t line);

/* A function of the source. A function compiled into several units has a description for each unit. */
struct flow_source_function {
	const char *name; /* linker name, if known; otherwise name in the source; "": no name */
	const char *file; /* file of the declaration; "" unknown */
	uint32_t line;    /* 0 unknown */
};

/* Code of a function: its own code, or an inlined copy. */
struct flow_scope {
	const struct flow_source_function *function;
	const struct flow_scope *outer; /* scope that contains the inlined copy; NULL: not inlined */
	const char *call_file;          /* file of the call in the outer function; "" unknown */
	uint32_t call_line;
	bool by_llvm; /* compiled by LLVM, whose discriminators hold several numbers */
};

/* Finds the innermost function of the instruction at address; NULL: unknown. The result is valid as long as sources. */
const struct flow_scope *flow_sources_scope(struct flow_sources *sources, uint32_t image, uint64_t address);

/*
 * Visits all lines with code in the image, executed or not, with addresses of the image's file. *any is false if no
 * lines are known. Returns 0, or the result of visit.
 */
int flow_sources_walk(struct flow_sources *sources, uint32_t image, flow_lines_visit *visit, void *context, bool *any);

#endif
