/* SPDX-License-Identifier: BSD-2-Clause */
/* Cuts windows that events or calls choose: numbered traces, or one trace with all windows. */
#ifndef RELOG_WINDOWS_H
#define RELOG_WINDOWS_H

#include <stdbool.h>

#include "relog/settings/settings.h"

/*
 * As relog_run, once for each window. out.ptl becomes out.1.ptl, out.2.ptl and so on, or, with
 * settings->windows.together, stays one trace. Either all outputs appear or none. Returns the errors of relog_run and
 * analysis_windows_find; PTL_MISUSE if there is no window.
 */
int relog_windows(const struct relog_settings *settings, bool *damaged);

#endif
