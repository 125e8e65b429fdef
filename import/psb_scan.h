/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the PSB packets of raw PT bytes that arrive in pieces. */
#ifndef IMPORT_PSB_SCAN_H
#define IMPORT_PSB_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMPORT_PSB_SIZE 16u /* bytes 02 82, eight times */

/*
 * A scan under way. Zero-initialised is at the start of a stream.
 *
 * The packet before a PSB may end in 02 82 (a TIP to ...8202), so the pattern may repeat more than
 * eight times; no packet starts with 02 82 but the PSB, so a PSB is the last 16 bytes of such a
 * run. That is why one is found only when its run has ended.
 */
struct import_psb_scan {
	uint64_t offset; /* bytes seen so far */
	uint8_t run[32]; /* the pattern that the last of them are, or the end of it */
	size_t run_size;
	uint64_t found; /* PSBs so far */
};

/*
 * Looks at the next size bytes and calls found, in order, with the stream offset of each PSB whose
 * run ends in them. A non-zero result of found ends the scan and is returned.
 */
int import_psb_scan(struct import_psb_scan *scan, const uint8_t *data, size_t size,
		    int (*found)(void *context, uint64_t offset), void *context);

/* The same at the end of the stream, where a last run ends. */
int import_psb_scan_end(struct import_psb_scan *scan, int (*found)(void *context, uint64_t offset), void *context);

#endif
