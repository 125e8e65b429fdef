/* SPDX-License-Identifier: BSD-2-Clause */
/* One trace as several, each of which is whole and decodes alone: cut at times that give parts of a size. */
#ifndef RELOG_SPLIT_H
#define RELOG_SPLIT_H

#include <stdbool.h>
#include <stddef.h>

#include "relog/settings/settings.h"

/*
 * As relog_run, for settings->split bytes a part: out.ptl becomes out.1.ptl, out.2.ptl and so on. All of them appear,
 * or none. What relog_run gives; PTL_MISUSE for inputs without a clock.
 */
int relog_split(const struct relog_settings *settings, bool *damaged);
/* out.ptl is out.3.ptl, or .out.3.ptl.tmp-PID in the same folder while it is made; in fresh memory, NULL without. */
char *relog_part_name(const char *path, size_t number, bool temporary);

#endif
