/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stage before a cut by time. A session of Windows may report processes, threads and images only at its end, or when they
 * end. The cut would lose such reports, and with them names, parents and stacks. The stage finds them before the first event, and
 * reports each process, thread and image where it began: at the start of the trace, or of its process.
 */
#ifndef RELOG_CUT_ANNOUNCE_H
#define RELOG_CUT_ANNOUNCE_H

#include "relog/settings/stage.h"

extern const struct relog_stage relog_stage_announce;

#endif
