/* SPDX-License-Identifier: BSD-2-Clause */
/* Searches PSBs, with the codec's function, in bytes that arrive in pieces. */
#include "import/psb_scan.h"

#include <string.h>

#include "format/pt/packet.h"

#define PSB_FIRST 0x02
#define PSB_SECOND 0x82

static bool follows(uint8_t byte, uint8_t before)
{
	return (before == PSB_FIRST && byte == PSB_SECOND) || (before == PSB_SECOND && byte == PSB_FIRST);
}

/* Returns how many bytes at the end of data may begin a PSB that continues in the next piece. */
static size_t tail_of(const uint8_t *data, size_t size)
{
	size_t run = 1;

	if (!size || (data[size - 1] != PSB_FIRST && data[size - 1] != PSB_SECOND))
		return 0;
	while (run < size && follows(data[size - run], data[size - run - 1]))
		run++;
	return run;
}

/* Appends data to the remembered end of a run. A PSB is the last 16 bytes of a run. */
static void keep_run_end(struct import_psb_scan *scan, const uint8_t *data, size_t size)
{
	const size_t more = size < sizeof(scan->run) ? size : sizeof(scan->run);
	const size_t old = scan->run_size < sizeof(scan->run) - more ? scan->run_size : sizeof(scan->run) - more;

	memmove(scan->run, scan->run + scan->run_size - old, old);
	memcpy(scan->run + old, data + size - more, more);
	scan->run_size = old + more;
}

/* Reports all PSBs of data. offset: position of data in the stream. */
static int search_psbs(struct import_psb_scan *scan, const uint8_t *data, size_t size, uint64_t offset,
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

int import_psb_scan(struct import_psb_scan *scan, const uint8_t *data, size_t size,
		    int (*found)(void *context, uint64_t offset), void *context)
{
	size_t lead = 0;
	size_t tail;
	int status;

	if (scan->run_size)
		while (lead < size && follows(data[lead], lead ? data[lead - 1] : scan->run[scan->run_size - 1]))
			lead++;
	if (lead)
		keep_run_end(scan, data, lead);
	if (lead == size) {
		scan->offset += size;
		return 0;
	}
	scan->offset += lead;
	status = import_psb_scan_end(scan, found, context);
	tail = tail_of(data + lead, size - lead);
	if (!status)
		status = search_psbs(scan, data + lead, size - lead - tail, scan->offset, found, context);
	if (tail)
		keep_run_end(scan, data + size - tail, tail);
	scan->offset += size - lead;
	return status;
}

int import_psb_scan_end(struct import_psb_scan *scan, int (*found)(void *context, uint64_t offset), void *context)
{
	const size_t size = scan->run_size;

	scan->run_size = 0;
	return search_psbs(scan, scan->run, size, scan->offset - size, found, context);
}
