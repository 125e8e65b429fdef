/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stage before a cut by time. A session of Windows may report processes, threads and images only at the end of the
 * session, or when they end. The cut would lose such reports, and with the reports names, parents and stacks. The stage
 * collects late reports before the first event. It reports each process, thread and image at its beginning: the start
 * of the trace, or of the process.
 */
#ifndef RELOG_CUT_ANNOUNCE_H
#define RELOG_CUT_ANNOUNCE_H

#include "relog/settings/stage.h"

extern const struct relog_stage relog_stage_announce;

#endif
