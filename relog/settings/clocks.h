/* SPDX-License-Identifier: BSD-2-Clause */
/* Settings of clocks and machines: how the inputs relate. */
#ifndef RELOG_SETTINGS_CLOCKS_H
#define RELOG_SETTINGS_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/program/options.h"
#include "common/text/string_list.h"

/* Zero-initialised: clocks are aligned by wall time. */
struct relog_clock_settings {
	struct common_string_list offsets;  /* FILE=TIME */
	struct common_string_list machines; /* FILE=NAME */
	const char *anchor;                 /* expression about events that all inputs have; NULL */
	const char *order, *then;           /* expressions about causes and effects, to be checked; NULL */
};

/* Table of the options; the target is struct relog_settings. */
extern const struct common_option relog_clock_options[];

/* Whether clocks or machines are changed, or are checked. */
bool relog_clocks_wanted(const struct relog_clock_settings *clocks);
/* Checks for options that need each other, and the expressions. Returns PTL_MISUSE with a text, or PTL_NO_MEMORY. */
int relog_clocks_check(const struct relog_clock_settings *clocks, size_t inputs);
void relog_clock_settings_free(struct relog_clock_settings *clocks);

/* Splits FILE=TIME, such as in2.ptl=+1.5s or in2=-20ms, into the bytes of the FILE and nanoseconds. PTL_MISUSE. */
int relog_offset_parse(const char *text, size_t *file, int64_t *nanoseconds);
/* Splits FILE=NAME into the bytes of the FILE and the NAME. PTL_MISUSE. */
int relog_machine_parse(const char *text, size_t *file, const char **name);

#endif
