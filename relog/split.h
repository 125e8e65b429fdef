/* SPDX-License-Identifier: BSD-2-Clause */
/* Splits a trace into parts of a given size. Each part is a complete trace that decodes alone. */
#ifndef RELOG_SPLIT_H
#define RELOG_SPLIT_H

#include <stdbool.h>
#include <stddef.h>

#include "relog/settings/settings.h"

/*
 * As relog_run, with at most settings->split bytes a part. out.ptl becomes out.1.ptl, out.2.ptl and so on. Either all
 * parts appear or none. Returns the errors of relog_run; PTL_MISUSE for inputs without a clock.
 */
int relog_split(const struct relog_settings *settings, bool *damaged);

#endif
