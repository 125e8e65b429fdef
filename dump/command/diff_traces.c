/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the traces that ptl-dump diff compares. */
#include "dump/command/diff_traces.h"

#include <stdlib.h>

#include "common/error.h"

/* path: NULL for the trace that the command has opened. */
static int add_trace(struct dump_diff_traces *traces, struct analysis_diff *diff, const struct dump_run *run,
		     const char *path, bool second)
{
	struct dump_compared *compared = &traces->list[traces->count];
	struct analysis_input input;
	int status = 0;

	*compared = (struct dump_compared){.run = *run, .opened = path != NULL};
	compared->run.several = true;
	if (path) {
		compared->run.path = path;
		compared->run.trace = NULL;
		status = dump_run_open(&compared->run);
		/* dump_run_open has reported the error. */
		if (status < 0)
			return common_fail(status, "there is nothing to compare with");
	}
	traces->count++;
	status = dump_run_timeline(&compared->run, &compared->timeline);
	if (status)
		return status;
	input = dump_run_input(&compared->run);
	return analysis_diff_add(diff, &input, compared->timeline, second);
}

int dump_diff_traces_open(struct dump_diff_traces *traces, struct analysis_diff *diff, const struct dump_run *run,
			  char *const *first, size_t first_count, const char *const *second, size_t second_count,
			  const struct analysis_ignore *ignore)
{
	const size_t count = 1 + first_count + second_count;
	int status = analysis_diff_open(diff, count, ignore);

	*traces = (struct dump_diff_traces){.list = calloc(count, sizeof(*traces->list))};
	if (!status && !traces->list)
		status = common_fail_memory("traces", count * sizeof(*traces->list));
	if (!status)
		status = add_trace(traces, diff, run, NULL, false);
	for (size_t i = 0; !status && i < first_count; i++)
		status = add_trace(traces, diff, run, first[i], false);
	for (size_t i = 0; !status && i < second_count; i++)
		status = add_trace(traces, diff, run, second[i], true);
	return status ? status : analysis_diff_match(diff);
}

void dump_diff_traces_close(struct dump_diff_traces *traces, struct analysis_diff *diff)
{
	analysis_diff_close(diff);
	for (size_t i = 0; i < traces->count; i++) {
		flow_timeline_free(traces->list[i].timeline);
		if (traces->list[i].opened)
			traces->damaged |= dump_run_close(&traces->list[i].run);
	}
	free(traces->list);
}
