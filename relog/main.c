/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-relog: from the command line to an input and the output, and to the exit status. */
#include <stdbool.h>

#include <ptl/error.h>
#include <ptl/reader.h>

#include "common/message.h"
#include "relog/input_ptl.h"
#include "relog/input_raw.h"
#include "relog/output.h"
#include "relog/settings.h"
#include "relog/source.h"

/* Ends the work on output, well or not. */
static int finish(int status, struct relog_output *output, const struct relog_settings *settings)
{
	if (!status)
		return relog_output_commit(output, settings);
	relog_output_abandon(output);
	return status;
}

static int run_raw(const struct relog_settings *settings)
{
	struct relog_output output;
	int status = relog_output_open(&output, settings, 0);

	if (!status)
		status = finish(relog_input_raw(settings, &output), &output, settings);
	return status;
}

static int run_ptl(const struct relog_settings *settings, bool *damaged)
{
	struct relog_output output;
	struct relog_source source;
	uint16_t major;
	uint16_t minor;
	int status = relog_source_open(&source, settings->input);

	if (status)
		return status;
	ptl_trace_version(source.trace, &major, &minor);
	status = relog_output_open(&output, settings, minor);
	if (!status)
		status = finish(relog_input_ptl(&source, &output, damaged), &output, settings);
	relog_source_close(&source);
	return status;
}

int main(int argc, char **argv)
{
	static struct relog_settings settings;
	bool damaged = false;
	int status;

	ptl_message_start("ptl-relog", false);
	status = relog_settings_parse(&settings, argc, argv);
	if (status) {
		relog_settings_free(&settings);
		return status > 0 ? PTL_EXIT_OK : PTL_EXIT_USAGE;
	}
	ptl_message_start("ptl-relog", settings.quiet);
	relog_catch_signals();
	status = settings.input ? run_ptl(&settings, &damaged) : run_raw(&settings);
	relog_settings_free(&settings);
	if (!status)
		return damaged ? PTL_EXIT_FINDING : PTL_EXIT_OK;
	status = ptl_message_failure(status);
	relog_die_of_signal();
	return status;
}
