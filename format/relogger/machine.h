/* SPDX-License-Identifier: BSD-2-Clause */
/* Machines of the inputs and of the output, and the inputs' clocks. */
#ifndef FORMAT_RELOGGER_MACHINE_H
#define FORMAT_RELOGGER_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/relogger.h>

#include "format/relogger/clocks.h"

/* Machines of the output. */
struct format_machines {
	struct ptl_machine *all; /* by index */
	size_t count;
	size_t recordings;         /* number of recordings numbered so far */
	bool written;              /* the relogger writes the records, instead of copying those of the first input */
	bool has_stated;           /* a callback set the machine */
	struct ptl_machine stated; /* machine that the callback set */
};

/* Machines of an input. */
struct format_input_machines {
	uint32_t first;    /* index in the output of the machine with index 0 */
	uint16_t *indexes; /* index in the output, by index in the input */
	size_t count;
	bool renumbered;    /* some indexes differ */
	size_t recording;   /* number of the recording, shared by its parts */
	const char *stated; /* name stated by the user; NULL: as recorded */
};

struct format_input_clock {
	struct format_clock_relation relation; /* stated by the user */
	int64_t shift;                         /* added to the input's times */
	uint64_t uncertainty;
};

/* Numbers the machines of all inputs, and computes the shifts of their times. */
int format_relogger_find_machines(struct ptl_relogger *relogger);
/* Writes the records of the machines that are not copied. */
int format_relogger_write_machines(struct ptl_relogger *relogger);

#endif
