/* SPDX-License-Identifier: BSD-2-Clause */
/* Source lines and functions of addresses, from DWARF in the trace or, where that has none, in files on disk. */
#ifndef FLOW_SYMBOL_SOURCE_LINE_H
#define FLOW_SYMBOL_SOURCE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/symbol/line_table.h"
#include "flow/timeline/timeline.h"

struct flow_sources;

/*
 * Debug information of an image is looked for when an address of it is first asked for: in the folders of
 * elf_debug_path_add; in the trace's own copy; in the image's file, if its build id is the image's, and in the debug file of
 * that (elf/debug_search.h). A file without the right build id is never used. All functions may be called from
 * several threads. trace and timeline outlive it. PTL_NO_MEMORY.
 */
int flow_sources_open(struct ptl_trace *trace, const struct flow_timeline *timeline, struct flow_sources **sources);
/* To be called before anything is looked up by those who use flow_sources_scope: scopes take time and memory. */
void flow_sources_want_scopes(struct flow_sources *sources);
void flow_sources_close(struct flow_sources *sources);

/* Images that were asked about, and those of them for which lines were found. */
void flow_sources_counts(struct flow_sources *sources, size_t *asked, size_t *found);
/*
 * How much of the debug information that was found refers to a file that is not there, so that names of inlined functions may be
 * missing; *name is such a file, as long as sources live.
 */
size_t flow_sources_missing(struct flow_sources *sources, const char **name);

/*
 * The line that the instruction at address comes from; false where it is not known. *file lives as long as
 * sources. image is an index in the timeline or FLOW_NONE.
 */
bool flow_sources_find(struct flow_sources *sources, uint32_t image, uint64_t address, const char **file,
		       uint32_t *line);

/* flow_lines_begins of an address of the image's file. */
bool flow_sources_begins(struct flow_sources *sources, uint32_t image, uint64_t address, uint32_t line);

/* A function of the source; one that is compiled into several places has one description for each unit. */
struct flow_source_function {
	const char *name; /* as the linker knows it where that is said, else as in the source; "" where it has none */
	const char *file; /* where it is declared; "" unknown */
	uint32_t line;    /* 0 unknown */
};

/* Code of a function: its own, or a copy that was inlined into other code. */
struct flow_scope {
	const struct flow_source_function *function;
	const struct flow_scope *outer; /* what it was inlined into; NULL: it was not */
	const char *call_file;          /* where in the outer function it was called; "" unknown */
	uint32_t call_line;
};

/* The innermost function that the instruction at address comes from; NULL where it is not known. It lives as long as sources. */
const struct flow_scope *flow_sources_scope(struct flow_sources *sources, uint32_t image, uint64_t address);

/*
 * All lines that have code in the image, with addresses of its file, whether it ran or not; *any is false where no lines
 * are known. Returns what visit did, or 0.
 */
int flow_sources_walk(struct flow_sources *sources, uint32_t image, flow_lines_visit *visit, void *context, bool *any);

#endif
