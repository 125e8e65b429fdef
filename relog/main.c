/* SPDX-License-Identifier: BSD-2-Clause */
/* Entry of ptl-relog: parses the command line, runs, and returns the exit status. */
#include <stdbool.h>

#include <ptl/error.h>

#include "common/memory_budget.h"
#include "common/program/interrupt.h"
#include "common/program/message.h"
#include "relog/check.h"
#include "relog/rules/stage.h"
#include "relog/run.h"
#include "relog/session.h"
#include "relog/settings/settings.h"
#include "relog/split.h"
#include "relog/windows.h"

static int write_outputs(struct relog_settings *settings, bool *damaged)
{
	const int status = relog_rules_load(settings);

	if (status < 0)
		return status;
	if (settings->split)
		return relog_split(settings, damaged);
	if (relog_windows_wanted(&settings->windows))
		return relog_windows(settings, damaged);
	return settings->live ? relog_session(settings, damaged) : relog_run(settings, damaged);
}

int main(int argc, char **argv)
{
	static struct relog_settings settings;
	bool damaged = false, wrong = false;
	int status;

	common_message_start("ptl-relog", false);
	status = relog_settings_parse(&settings, argc, argv);
	if (status) {
		relog_settings_free(&settings);
		return status > 0 ? COMMON_EXIT_OK : common_exit_of(status);
	}
	common_message_start("ptl-relog", settings.quiet);
	/*
	 * Three quarters of the limit are for data kept about the inputs. Buffers, caches and the program use the rest.
	 */
	common_memory_budget_limit(settings.memory_limit / 4 * 3);
	status = write_outputs(&settings, &damaged);
	if (!status && settings.check)
		status = relog_check(&settings, &wrong);
	if (!status)
		relog_redact_warn(&settings.redact);
	relog_settings_free(&settings);
	if (!status && wrong)
		return COMMON_EXIT_FINDING;
	if (!status)
		return damaged ? COMMON_EXIT_INPUT : COMMON_EXIT_OK;
	status = common_message_failure(status);
	if (common_memory_budget_refused())
		common_message_hint("a larger --memory-limit, or a part of the input first: --time, --drop-pt");
	common_interrupt_die();
	return status;
}
