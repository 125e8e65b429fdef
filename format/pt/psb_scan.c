/* SPDX-License-Identifier: BSD-2-Clause */
/* Searches PSBs in bytes that arrive in pieces. A run across pieces is counted, not kept. */
#include "format/pt/psb_scan.h"

#include <stdbool.h>

#include "format/pt/packet.h"

#define FIRST (FORMAT_PT_MATCH_PSB & 0xff)
#define SECOND (FORMAT_PT_MATCH_PSB >> 8)

static bool follows(uint8_t byte, uint8_t before)
{
	return (before == FIRST && byte == SECOND) || (before == SECOND && byte == FIRST);
}

/* Returns how many bytes at the end of data may begin a PSB that continues in the next piece. */
static size_t tail_of(const uint8_t *data, size_t size)
{
	size_t run = 1;

	if (!size || (data[size - 1] != FIRST && data[size - 1] != SECOND))
		return 0;
	while (run < size && follows(data[size - run], data[size - run - 1]))
		run++;
	return run;
}

/* Reports all PSBs of data. offset: position of data in the stream. */
static int search_psbs(struct format_pt_psb_scan *scan, const uint8_t *data, size_t size, uint64_t offset,
		       int (*found)(void *context, uint64_t offset), void *context)
{
	size_t at = 0;
	int status = 0;

	while (!status && (at = ptl_pt_find_psb(data, size, at)) < size) {
		scan->found++;
		status = found(context, offset + at);
		at += PTL_PT_PSB_SIZE;
	}
	return status;
}

int format_pt_psb_scan(struct format_pt_psb_scan *scan, const uint8_t *data, size_t size,
		       int (*found)(void *context, uint64_t offset), void *context)
{
	size_t lead = 0;
	size_t tail;
	int status;

	for (; scan->run && lead < size && follows(data[lead], scan->last); lead++, scan->run++)
		scan->last = data[lead];
	scan->offset += lead;
	if (lead == size)
		return 0;
	status = format_pt_psb_scan_end(scan, found, context);
	tail = tail_of(data + lead, size - lead);
	if (!status)
		status = search_psbs(scan, data + lead, size - lead - tail, scan->offset, found, context);
	scan->run = tail;
	scan->last = data[size - 1];
	scan->offset += size - lead;
	return status;
}

int format_pt_psb_scan_end(struct format_pt_psb_scan *scan, int (*found)(void *context, uint64_t offset), void *context)
{
	/* A PSB begins with the first byte of the pattern and ends with the second. */
	const unsigned behind = scan->last == FIRST;
	const bool is_psb = scan->run >= PTL_PT_PSB_SIZE + behind;

	scan->run = 0;
	scan->found += is_psb;
	return is_psb ? found(context, scan->offset - behind - PTL_PT_PSB_SIZE) : 0;
}
