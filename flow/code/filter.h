/* SPDX-License-Identifier: BSD-2-Clause */
/* Which addresses Intel PT was filtered by. */
#ifndef FLOW_CODE_FILTER_H
#define FLOW_CODE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/reader.h>

#include "flow/timeline/query.h"

struct flow_filter; /* of all machines of a trace */

/*
 * Reads the address filters of a trace. Leaves out those of a machine of which a filter names a file that no process maps: where
 * its range lies is unknown. *filter is NULL if there are none. PTL_NO_MEMORY.
 */
int flow_filter_open(const struct ptl_trace *trace, const struct flow_timeline *timeline, struct flow_filter **filter);
void flow_filter_close(struct flow_filter *filter);

/* Whether the machine has address filters. filter may be NULL. */
bool flow_filter_is_there(const struct flow_filter *filter, uint32_t machine);
/* Whether packets come from ip, which lies in the image (FLOW_NONE: in none). The machine has filters. */
bool flow_filter_passes(const struct flow_filter *filter, uint32_t machine, uint32_t image, uint64_t ip);

/* What flow_filter_ranges found. */
struct flow_filter_range {
	uint64_t first;
	uint64_t last; /* inclusive */
	bool stop;
};
#define FLOW_FILTER_RANGES 4 /* that a CPU has at most */

/*
 * Lists the filters' ranges of addresses in a version of an address space; neighbours are one range. Returns how many there are,
 * of which the first FLOW_FILTER_RANGES are in ranges.
 */
size_t flow_filter_ranges(const struct flow_filter *filter, uint32_t machine, flow_root root,
			  struct flow_filter_range *ranges);

#endif
