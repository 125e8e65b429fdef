/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cuts of a trace that is being written may learn too late that events had to be kept. Such events become losses and
 * warnings.
 */
#ifndef RELOG_CUT_LATE_H
#define RELOG_CUT_LATE_H

#include <ptl/relogger.h>
#include <ptl/state.h>

#include "relog/cut/select.h"

/* Zero-initialised: nothing was late. */
struct relog_late {
	size_t processes;
	bool switches; /* switches of CPUs whose Intel PT is kept were dropped */
};

/*
 * Reports processes that were selected since the last call and are alive: the trace has lost their earlier events. Each
 * gets a loss record, and rundown as `rundown` says. Returns the errors of ptl_relogger_loss and ptl_state_rundown.
 */
int relog_late_report(struct relog_late *late, struct relog_selection *selection, struct ptl_relogger *relogger,
		      struct ptl_state *state, const struct ptl_rundown *rundown);
/* Reports that Intel PT of a CPU began after switches had been dropped. Returns the errors of ptl_relogger_loss. */
int relog_late_switches(struct relog_late *late, struct ptl_relogger *relogger);
/* Called at the end: prints warnings of all late findings. */
void relog_late_warn(const struct relog_late *late);

#endif
