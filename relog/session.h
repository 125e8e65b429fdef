/* SPDX-License-Identifier: BSD-2-Clause */
/* A named session of ptl-record, whose files are written again as they come. */
#ifndef RELOG_SESSION_H
#define RELOG_SESSION_H

#include <stdbool.h>

#include "relog/settings/settings.h"

/*
 * As relog_run, for each file that the session writes until it is over: out.ptl, then out.2.ptl, out.3.ptl and so on. Those that
 * were gone before they could be read are counted, and said.
 */
int relog_session(const struct relog_settings *settings, bool *damaged);

#endif
