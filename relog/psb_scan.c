/* SPDX-License-Identifier: BSD-2-Clause */
/* The scan for PSB packets: a two-byte pattern that must repeat eight times. */
#include "relog/psb_scan.h"

#include <string.h>

#define PSB_FIRST 0x02
#define PSB_SECOND 0x82

/* end: the stream offset just behind the run. */
static int end_run(struct relog_psb_scan *scan, uint64_t end,
		   int (*found)(void *context, uint64_t offset), void *context)
{
	uint64_t whole = scan->run & ~(uint64_t)1;
	/* An odd byte behind the last pair is the first of the packet that follows. */
	uint64_t behind = scan->run - whole;

	scan->run = 0;
	if (whole < RELOG_PSB_SIZE)
		return 0;
	scan->found++;
	return found(context, end - behind - RELOG_PSB_SIZE);
}

int relog_psb_scan(struct relog_psb_scan *scan, const uint8_t *data, size_t size,
		   int (*found)(void *context, uint64_t offset), void *context)
{
	for (size_t at = 0; at < size; at++) {
		if (!scan->run) {
			const uint8_t *first = memchr(data + at, PSB_FIRST, size - at);

			if (!first)
				break;
			at = (size_t)(first - data);
			scan->run = 1;
		} else if (data[at] == (scan->run % 2 ? PSB_SECOND : PSB_FIRST)) {
			scan->run++;
		} else {
			int status = end_run(scan, scan->offset + at, found, context);

			scan->run = data[at] == PSB_FIRST;
			if (status)
				return status;
		}
	}
	scan->offset += size;
	return 0;
}

int relog_psb_scan_end(struct relog_psb_scan *scan, int (*found)(void *context, uint64_t offset),
		       void *context)
{
	return end_run(scan, scan->offset, found, context);
}
