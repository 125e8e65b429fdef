/* SPDX-License-Identifier: BSD-2-Clause */
/* Relations of the inputs' clocks, and names of machines, that the user states. */
#ifndef FORMAT_RELOGGER_CLOCKS_H
#define FORMAT_RELOGGER_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include <ptl/relogger.h>

/* A zero-initialised relation is none. */
struct format_clock_relation {
	bool given;
	bool relative;        /* `shift` is added to the alignment by wall clock */
	int64_t shift;        /* nanoseconds to the clock of the first input */
	uint64_t uncertainty; /* nanoseconds */
};

/*
 * Relates the clock of an input to the first input's clock. ptl_relogger_process then fails with PTL_MISUSE for an input
 * that shares the first input's clock.
 */
void format_relogger_relate(struct ptl_relogger_input *input, const struct format_clock_relation *relation);
/* Whether the input shares the first input's clock. */
bool format_relogger_shares_clock(const struct ptl_relogger_input *input);
/* Names the input's machine in the output. The name is kept as a pointer. */
void format_relogger_name_machine(struct ptl_relogger_input *input, const char *name);

#endif
