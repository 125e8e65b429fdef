/* SPDX-License-Identifier: BSD-2-Clause */
/* Source lines of addresses, from DWARF in the trace or, where that has none, in files on disk. */
#ifndef FLOW_SYMBOL_SOURCE_LINE_H
#define FLOW_SYMBOL_SOURCE_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/timeline/timeline.h"

struct flow_sources;

/*
 * Debug information of an image is looked for when an address of it is first asked for: in the trace's own
 * copy; without that in the image's file, if its build id is the image's, and in the debug file of that build
 * id below /usr/lib/debug. A file without the right build id is never used. All functions may be called from
 * several threads. trace and timeline outlive it. PTL_NO_MEMORY.
 */
int flow_sources_open(struct ptl_trace *trace, const struct flow_timeline *timeline, struct flow_sources **sources);
void flow_sources_close(struct flow_sources *sources);

/* Images that were asked about, and those of them for which lines were found. */
void flow_sources_counts(struct flow_sources *sources, size_t *asked, size_t *found);

/*
 * The line that the instruction at address comes from; false where it is not known. *file lives as long as
 * sources. image is an index in the timeline or FLOW_NONE.
 */
bool flow_sources_find(struct flow_sources *sources, uint32_t image, uint64_t address, const char **file,
		       uint32_t *line);

#endif
