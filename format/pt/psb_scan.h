/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds PSB packets in raw PT bytes that arrive in pieces. ptl_pt_find_psb searches bytes that are all there. */
#ifndef FORMAT_PT_PSB_SCAN_H
#define FORMAT_PT_PSB_SCAN_H

#include <stddef.h>
#include <stdint.h>

/*
 * State of a scan. Zero-initialised: start of a stream.
 *
 * The pattern of a PSB may repeat more than eight times: see ptl_pt_find_psb. A PSB is the last 16 bytes of such a run,
 * so a PSB is found only when its run has ended.
 */
struct format_pt_psb_scan {
	uint64_t offset; /* bytes scanned so far */
	uint64_t run;    /* bytes of the run at the end of the scanned bytes; 0: no run */
	uint8_t last;    /* last byte of the run */
	uint64_t found;  /* PSBs found so far */
};

/*
 * Scans the next `size` bytes. Calls `found`, in order, with the stream offset of each PSB whose run ends in these
 * bytes. A non-zero result of `found` ends the scan and is returned.
 */
int format_pt_psb_scan(struct format_pt_psb_scan *scan, const uint8_t *data, size_t size,
		       int (*found)(void *context, uint64_t offset), void *context);

/* As format_pt_psb_scan for the end of the stream, which ends the last run. */
int format_pt_psb_scan_end(struct format_pt_psb_scan *scan, int (*found)(void *context, uint64_t offset),
			   void *context);

#endif
