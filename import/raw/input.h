/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Raw Intel PT and raw code bytes as an input: makes them a trace of one process that existed
 * already.
 */
#ifndef IMPORT_RAW_INPUT_H
#define IMPORT_RAW_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/text/string_list.h"
#include "import/spool.h"

#define IMPORT_RAW_PT_MAX 4096u /* raw PT inputs */

/* How the packets count time. */
struct import_raw_clock {
	uint64_t tsc_frequency; /* Hz; 0: not given, and packets have no times */
	uint64_t
		tsc_start; /* whole TSC at the start of the capture; 0: that of the first TSC packet, whose upper bits are 0 */
	uint32_t ctc_numerator;   /* TSC ticks of so many crystal ticks: */
	uint32_t ctc_denominator; /* 0: not given */
	uint8_t mtc_frequency;    /* IA32_RTIT_CTL.MTCFreq */
	uint8_t nominal_ratio;    /* 0: not given */
};

struct import_raw {
	struct common_string_list pt; /* at most IMPORT_RAW_PT_MAX, a thread each */
	const char *memory;
	const char *memory_map;
	bool has_cpu;
	uint16_t family;
	uint8_t model;
	uint8_t stepping;
	uint8_t mode;        /* 64, 32; 0: not given */
	const char *filters; /* address filters as the kernel takes them; NULL: not given */
	bool has_pid;
	uint32_t pid;
	const char *process; /* NULL: not given */
	struct import_raw_clock clock;
};

/*
 * Writes the whole content of the trace but its provenance record. The memory file and the map are
 * read and checked first.
 *
 * PTL_CORRUPT (the map), PTL_NOT_OURS (PT bytes without a PSB), PTL_SYSTEM, PTL_NO_MEMORY,
 * PTL_CANCELLED.
 */
int import_input_raw(const struct import_raw *settings, struct import_spool *spool);

#endif
