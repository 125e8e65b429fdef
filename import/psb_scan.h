/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds PSB packets in raw PT bytes that arrive in pieces. */
#ifndef IMPORT_PSB_SCAN_H
#define IMPORT_PSB_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMPORT_PSB_SIZE 16u /* size of a PSB: bytes 02 82, eight times */

/*
 * State of a scan. Zero-initialised: start of a stream.
 *
 * The packet before a PSB may end in 02 82 (a TIP to ...8202), so the pattern may repeat more than eight times. Only a
 * PSB starts with 02 82, so the PSB is the last 16 bytes of a run. A PSB is therefore found only when its run has
 * ended.
 */
struct import_psb_scan {
	uint64_t offset; /* bytes scanned so far */
	uint8_t run[32]; /* last bytes of the current run, at the end of the scanned bytes */
	size_t run_size;
	uint64_t found; /* PSBs found so far */
};

/*
 * Scans the next `size` bytes. Calls `found`, in order, with the stream offset of each PSB whose run ends in these
 * bytes. A non-zero result of `found` ends the scan and is returned.
 */
int import_psb_scan(struct import_psb_scan *scan, const uint8_t *data, size_t size,
		    int (*found)(void *context, uint64_t offset), void *context);

/* As import_psb_scan for the end of the stream, which ends the last run. */
int import_psb_scan_end(struct import_psb_scan *scan, int (*found)(void *context, uint64_t offset), void *context);

#endif
