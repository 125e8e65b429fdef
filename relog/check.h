/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks an output once it is written: whether all of it can be read, and whether redaction has left the flow as it was. */
#ifndef RELOG_CHECK_H
#define RELOG_CHECK_H

#include <stdbool.h>

#include "relog/settings/settings.h"

/*
 * *found: the output is not as it should be, which has been reported. PTL_SYSTEM, PTL_NO_MEMORY,
 * PTL_CANCELLED; what relog_run returns.
 */
int relog_check(const struct relog_settings *settings, bool *found);

#endif
