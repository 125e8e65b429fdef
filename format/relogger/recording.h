/* SPDX-License-Identifier: BSD-2-Clause */
/* Which parts of which recording the output contains. */
#ifndef FORMAT_RELOGGER_RECORDING_H
#define FORMAT_RELOGGER_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include <ptl/relogger.h>

struct format_recording {
	bool has_change;    /* ptl_relogger_change was called */
	uint8_t change[16]; /* hash of the data of ptl_relogger_change; all zero: none */
	struct ptl_cut cut; /* cut stated by callbacks */
	bool has_cut;
};

/* Writes losses that state which parts of recordings the output contains. */
int format_relogger_pass_parts(struct ptl_relogger *relogger);

#endif
