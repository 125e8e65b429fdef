/* SPDX-License-Identifier: BSD-2-Clause */
/* Settings of windows: parts of a trace that events or calls choose. */
#ifndef RELOG_SETTINGS_WINDOWS_H
#define RELOG_SETTINGS_WINDOWS_H

#include <stdbool.h>

#include "analysis/window/window.h"
#include "common/program/options.h"

#define RELOG_WINDOWS_MAX 10000u

/* Zero-initialised: no windows. */
struct relog_window_settings {
	struct analysis_window_options choice;
	bool widened;  /* --before or --after is given */
	bool together; /* one output */
};

/* Table of the options; the target is struct relog_settings. */
extern const struct common_option relog_window_options[];

bool relog_windows_wanted(const struct relog_window_settings *windows);
/* Checks for options that exclude each other, and the expressions. Returns PTL_MISUSE with a text, or PTL_NO_MEMORY. */
int relog_windows_check(const struct relog_window_settings *windows);

#endif
