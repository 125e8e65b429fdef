/* SPDX-License-Identifier: BSD-2-Clause */
#include "relog/cut/late.h"

#include <inttypes.h>

#include "common/plural.h"
#include "common/program/message.h"

static int report_late_process(struct ptl_relogger *relogger, struct ptl_state *state,
			       const struct ptl_rundown *rundown, const struct ptl_state_process *process)
{
	const struct ptl_loss loss = {
		.kind = PTL_LOSS_EVENTS,
		.stream = PTL_NO_ID,
		.pid = process->pid,
		.tid = PTL_NO_ID,
		.first_time = process->start,
		.last_time = rundown->time,
		.cause = "had passed when the process began to run what was asked for",
	};
	struct ptl_rundown own = *rundown;
	const int status = ptl_relogger_loss(relogger, &loss);

	own.pid = process->pid;
	return status ? status : ptl_state_rundown(state, &own);
}

int relog_late_report(struct relog_late *late, struct relog_selection *selection, struct ptl_relogger *relogger,
		      struct ptl_state *state, const struct ptl_rundown *rundown)
{
	int status = 0;

	for (size_t i = 0; !status && i < selection->fresh_count; i++) {
		struct ptl_state_process process;

		if (!ptl_state_find_process(state, selection->fresh[i], &process))
			continue;
		status = report_late_process(relogger, state, rundown, &process);
		late->processes++;
	}
	selection->fresh_count = 0;
	return status;
}

int relog_late_switches(struct relog_late *late, struct ptl_relogger *relogger)
{
	late->switches = true;
	return ptl_relogger_loss(relogger, &(struct ptl_loss){.kind = PTL_LOSS_EVENTS,
							      .stream = PTL_NO_ID,
							      .pid = PTL_NO_ID,
							      .tid = PTL_NO_ID,
							      .cause = "had passed when Intel PT of a CPU began"});
}

void relog_late_warn(const struct relog_late *late)
{
	if (late->processes) {
		common_message_warning(
			"%zu " COMMON_PLURAL("process",
					     "processes") " began to run what was asked for more than a second after "
							  "their start: what they did before is missing, and is a loss",
			late->processes);
		common_message_hint("cut the whole trace when it is over: the same command on its file");
	}
	if (late->switches)
		common_message_warning(
			"Intel PT of a CPU began late: switches before that are missing, and are a loss");
}
