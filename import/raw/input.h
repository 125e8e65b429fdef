/* SPDX-License-Identifier: BSD-2-Clause */
/* Raw Intel PT and raw code bytes as an input: a trace of one process that existed before the trace. */
#ifndef IMPORT_RAW_INPUT_H
#define IMPORT_RAW_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/text/string_list.h"
#include "import/spool.h"

#define IMPORT_RAW_PT_MAX 4096u /* maximum number of raw PT inputs */

/* Clocks of the PT packets. */
struct import_raw_clock {
	uint64_t tsc_frequency; /* Hz; 0: not given; packets then have no times */
	uint64_t
		tsc_start; /* full TSC at the start of the capture; 0: TSC of the first TSC packet, with upper bits 0 */
	uint32_t ctc_numerator;   /* TSC ticks for ctc_denominator crystal ticks */
	uint32_t ctc_denominator; /* 0: not given */
	uint8_t mtc_frequency;    /* IA32_RTIT_CTL.MTCFreq */
	uint8_t nominal_ratio;    /* 0: not given */
};

struct import_raw {
	struct common_string_list pt; /* at most IMPORT_RAW_PT_MAX; each is a thread */
	const char *memory;
	const char *memory_map;
	bool has_cpu;
	uint16_t family;
	uint8_t model;
	uint8_t stepping;
	uint8_t mode;        /* 64 or 32; 0: not given */
	const char *filters; /* address filters in the kernel's syntax; NULL: not given */
	bool has_pid;
	uint32_t pid;
	const char *process; /* NULL: not given */
	struct import_raw_clock clock;
};

/*
 * Writes all content of the trace except the provenance record. Reads and checks the memory file and the map first.
 *
 * Returns PTL_CORRUPT (the map), PTL_NOT_OURS (PT bytes without a PSB), PTL_SYSTEM, PTL_NO_MEMORY, PTL_CANCELLED.
 */
int import_input_raw(const struct import_raw *settings, struct import_spool *spool);

#endif
