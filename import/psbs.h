/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the PSBs of a stream whose bytes arrive in pieces, and the time of each PSB, from the TSC packet of its PSB+. The
 * TSC of a virtual machine may have an offset: a PSB+ in a guest gets a time of the host.
 */
#ifndef IMPORT_PSBS_H
#define IMPORT_PSBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/trace.h>

#include "format/pt/psb_plus.h"
#include "format/pt/psb_scan.h"

/* The known times of a recording. */
struct import_psb_clock {
	const struct ptl_machine *machine;
	uint64_t earliest, latest; /* bounds of a guest's PSB without an offset; 0: unknown */
	uint64_t now; /* time of a PSB without a TSC of the host, before the stream's first TSC; 0: unknown */
	bool *host;   /* a PIP without NR was read: a host recorded the packets */
};

/* The times before a PSB in its stream. Zero-initialised: no times. */
struct import_psb_past {
	uint64_t time; /* time of the last PSB whose TSC counts; 0: no such PSB */
	bool searched; /* the bytes behind the PSB have no TSC of the host */
};

/*
 * Returns the time of a PSB, and notes the time in *past. 0: the PSB+ has no TSC of the host. data: begins at the PSB;
 * FORMAT_PT_PSB_PLUS_MAX bytes are enough. If the first PSB lies in a guest, the host's first TSC packet in the bytes counts.
 */
uint64_t import_psb_time(const struct import_psb_clock *clock, struct import_psb_past *past, const uint8_t *data,
			 size_t size);

/* Zero-initialised: begin of a stream. */
struct import_psbs {
	struct format_pt_psb_scan scan;
	struct import_psb_past past;
	bool has_tsc; /* a PSB+ has a TSC packet, even without a conversion to time */
	/* The last PSB, if its PSB+ may continue in the next piece. */
	bool held;
	uint64_t offset;
	size_t size;
	uint8_t bytes[FORMAT_PT_PSB_PLUS_MAX];
};

/* Receives a PSB. time: 0 if unknown. A non-zero result ends the search, and is returned. */
typedef int (*import_psb_found)(void *context, uint64_t offset, uint64_t time);

/* Reads the next bytes. Calls found with each PSB whose PSB+ is known, in order. */
int import_psbs_bytes(struct import_psbs *psbs, const struct import_psb_clock *clock, const uint8_t *data, size_t size,
		      import_psb_found found, void *context);

/* Ends the bytes. Calls found with the last PSBs. */
int import_psbs_end(struct import_psbs *psbs, const struct import_psb_clock *clock, import_psb_found found,
		    void *context);

/* Passes a hole of this size, after import_psbs_end. Times before the hole do not count behind the hole. */
void import_psbs_hole(struct import_psbs *psbs, uint64_t size);

#endif
