/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums up paths of calls, from one trace or from two traces that are compared. */
#include "dump/export/path_run.h"

#include "analysis/call/call_selection.h"
#include "common/error.h"
#include "format/reader/trace_end.h"

const char *const dump_path_values[] = {
	[DUMP_PATH_INSTRUCTIONS] = "instructions",
	[DUMP_PATH_TIME] = "time",
	[DUMP_PATH_SAMPLES] = "samples",
	[DUMP_PATH_PERIOD] = "period",
	NULL,
};
const char *const dump_path_groups[] = {
	[ANALYSIS_PATH_PROGRAM] = "program",
	[ANALYSIS_PATH_PROCESS] = "process",
	[ANALYSIS_PATH_THREAD] = "thread",
	[ANALYSIS_PATH_ALL] = "all",
	NULL,
};

int dump_path_options_check(const struct dump_path_options *options)
{
	const int status = analysis_sample_options_check(&options->samples);

	if (status < 0 || !options->by_given)
		return status;
	if (options->samples.enabled == (options->by >= DUMP_PATH_SAMPLES))
		return 0;
	if (options->samples.enabled)
		return common_fail(PTL_MISUSE, "--samples has no %s: --by takes samples and period",
				   dump_path_values[options->by]);
	return common_fail(PTL_MISUSE, "--by %s needs --samples", dump_path_values[options->by]);
}

/*
 * Opens the second trace with the options as given: --process is not resolved to pids yet, and --time refers to this
 * trace's clock.
 */
static int open_second(struct dump_path_run *path_run, const struct dump_options *options, const char *path)
{
	struct analysis_filter *filter = &path_run->options.filter;
	int status;

	path_run->run.path = path;
	path_run->run.trace = NULL;
	path_run->options = *options;
	path_run->run.options = &path_run->options;
	filter->pids = (struct common_id_set){0};
	for (size_t i = 0; i < options->filter.pids.count; i++) {
		status = common_id_set_add(&filter->pids, options->filter.pids.ids[i]);
		if (status < 0)
			return status;
	}
	status = dump_run_open(&path_run->run);
	/* dump_run_open has reported the error. */
	if (status < 0)
		return common_fail(status, "there is nothing to compare with");
	return analysis_filter_resolve(filter, ptl_trace_machine(path_run->run.trace),
				       format_trace_end(path_run->run.trace));
}

int dump_path_run_open(struct dump_path_run *path_run, const struct dump_run *run, const char *second)
{
	path_run->run = *run;
	path_run->opened = second != NULL;
	return second ? open_second(path_run, run->options, second) : 0;
}

int dump_path_run_start(struct dump_path_run *path_run, const struct dump_path_options *options)
{
	path_run->paths.group = options->group;
	path_run->paths.max_depth = options->depth;
	path_run->paths.calls = &path_run->calls;
	return dump_calls_open(&path_run->calls, &path_run->run);
}

int dump_path_run_decode(struct dump_path_run *path_run, const struct dump_path_options *options)
{
	struct analysis_call_observer observer = analysis_paths_observer;
	int status = dump_path_run_start(path_run, options);

	observer.context = &path_run->paths;
	if (status < 0)
		return status;
	if (options->samples.enabled)
		return analysis_samples_run(&path_run->calls, &options->samples, &observer, &path_run->samples);
	status = analysis_calls_observe(&path_run->calls, &observer);
	if (status == 0 && !analysis_functions_count(path_run->calls.functions))
		analysis_samples_hint(&path_run->calls);
	return status;
}

int dump_path_run_by_time(const struct dump_path_run *runs, size_t count, const struct dump_path_options *options,
			  bool *by_time)
{
	*by_time = options->samples.enabled ? options->by != DUMP_PATH_SAMPLES : options->by == DUMP_PATH_TIME;
	for (size_t i = 0; options->samples.enabled && i < count; i++)
		*by_time &= runs[i].samples.timed;
	if (options->by_given && options->by == DUMP_PATH_PERIOD && !*by_time)
		return common_fail(PTL_MISUSE, "--by period: these are no samples of one counter, which have periods");
	return 0;
}

void dump_path_run_close(struct dump_path_run *path_run)
{
	analysis_paths_free(&path_run->paths);
	analysis_samples_free(&path_run->samples);
	if (path_run->calls.input.trace)
		dump_calls_close(&path_run->calls, &path_run->run);
	if (!path_run->opened)
		return;
	path_run->damaged = dump_run_close(&path_run->run);
	common_id_set_free(&path_run->options.filter.pids);
}

void dump_path_run_left_out(const struct dump_path_run *path_run, struct dump_left_out *left_out)
{
	dump_left_out_add(left_out, path_run->paths.gaps, "gap, of which it is not known what ran",
			  "gaps, of which it is not known what ran");
	dump_left_out_add(left_out, path_run->samples.cut, "sample of too many paths, shown as its caller's",
			  "samples of too many paths, shown as their callers'");
	if (path_run->samples.count)
		dump_left_out_add(left_out, path_run->paths.cut_calls,
				  "sample too deep, or of too many paths, shown as its caller's",
				  "samples too deep, or of too many paths, shown as their callers'");
	else
		dump_left_out_add(left_out, path_run->paths.cut_calls,
				  "call too deep, or of too many paths, shown as its caller",
				  "calls too deep, or of too many paths, shown as their callers");
}
