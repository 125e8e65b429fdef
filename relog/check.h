/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks a complete output: all of the output can be read, and redaction has not changed the flow. */
#ifndef RELOG_CHECK_H
#define RELOG_CHECK_H

#include <stdbool.h>

#include "relog/settings/settings.h"

/*
 * *found: the output is wrong; messages have told how. Returns PTL_SYSTEM, PTL_NO_MEMORY, PTL_CANCELLED, or the errors
 * of relog_run.
 */
int relog_check(const struct relog_settings *settings, bool *found);

#endif
