/* SPDX-License-Identifier: BSD-2-Clause */
/* Address filters of Intel PT. */
#ifndef FLOW_CODE_FILTER_H
#define FLOW_CODE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/reader.h>

#include "flow/timeline/query.h"

struct flow_filter; /* address filters of all machines of a trace */

/*
 * Reads the address filters of a trace. If a filter names a file that no process maps, the filter's range is unknown,
 * and all filters of the filter's machine are left out. *filter is NULL if no filters are left. Returns PTL_NO_MEMORY.
 */
int flow_filter_open(const struct ptl_trace *trace, const struct flow_timeline *timeline, struct flow_filter **filter);
void flow_filter_close(struct flow_filter *filter);

/* Checks whether the machine has address filters. filter may be NULL. */
bool flow_filter_is_there(const struct flow_filter *filter, uint32_t machine);
/*
 * Checks whether the filters let packets from ip pass. image: the image at ip; FLOW_NONE: no image. The machine has
 * filters.
 */
bool flow_filter_passes(const struct flow_filter *filter, uint32_t machine, uint32_t image, uint64_t ip);

/* A range of flow_filter_ranges. */
struct flow_filter_range {
	uint64_t first;
	uint64_t last; /* inclusive */
	bool stop;
};
#define FLOW_FILTER_RANGES 4 /* maximum number of ranges of a CPU */

/*
 * Lists the filters' ranges of addresses in a version of an address space. Adjacent ranges are joined. Returns the
 * number of ranges; at most the first FLOW_FILTER_RANGES ranges are stored.
 */
size_t flow_filter_ranges(const struct flow_filter *filter, uint32_t machine, flow_root root,
			  struct flow_filter_range *ranges);

#endif
