/* SPDX-License-Identifier: BSD-2-Clause */
/* Relogs the files of a named session while the session writes files. */
#ifndef RELOG_SESSION_H
#define RELOG_SESSION_H

#include <stdbool.h>

#include "relog/settings/settings.h"

/*
 * As relog_run, for each file of the session until the session ends. The outputs are out.ptl, out.2.ptl, out.3.ptl and
 * so on. Files that vanished before they could be read are counted and reported.
 */
int relog_session(const struct relog_settings *settings, bool *damaged);

#endif
