/* SPDX-License-Identifier: BSD-2-Clause */
/* Relates the clocks of inputs by offsets and anchors, names machines, and checks the order of causes and effects. */
#ifndef RELOG_CLOCKS_H
#define RELOG_CLOCKS_H

#include <ptl/relogger.h>

#include "relog/settings/settings.h"

/*
 * Call when all inputs are added. Returns PTL_MISUSE for an unknown input, for an input without anchors or with another
 * number of anchors; the errors of analysis_windows_find.
 */
int relog_clocks_relate(const struct relog_settings *settings, struct ptl_relogger *relogger);
/* Adds the check of --order, which warns. Returns PTL_NO_MEMORY. */
int relog_clocks_watch(const struct relog_settings *settings, struct ptl_relogger *relogger);

#endif
