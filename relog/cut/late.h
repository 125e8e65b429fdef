/* SPDX-License-Identifier: BSD-2-Clause */
/* What a cut of a trace that is being written came to know too late to keep: how its output goes on, and says so. */
#ifndef RELOG_CUT_LATE_H
#define RELOG_CUT_LATE_H

#include <ptl/relogger.h>
#include <ptl/state.h>

#include "relog/cut/select.h"

/* Zero-initialised knows of nothing. */
struct relog_late {
	size_t processes;
	bool switches; /* of CPUs whose Intel PT is kept */
};

/*
 * Processes that were found since the last call, and live: some of what they did has passed. They are reported with rundown, which says what
 * of the state, and as losses. What ptl_state_rundown gives.
 */
int relog_late_report(struct relog_late *late, struct relog_selection *selection, struct ptl_relogger *relogger,
		      struct ptl_state *state, const struct ptl_rundown *rundown);
/* Intel PT of a CPU came when switches had been left out. What ptl_relogger_loss gives. */
int relog_late_switches(struct relog_late *late, struct ptl_relogger *relogger);
/* At the end: warnings of these. */
void relog_late_warn(const struct relog_late *late);

#endif
