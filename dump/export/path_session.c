/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums up paths of calls, from one trace or from two traces that are compared. */
#include "dump/export/path_session.h"

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
	[DUMP_PATH_PROGRAM] = "program",
	[DUMP_PATH_PROCESS] = "process",
	[DUMP_PATH_THREAD] = "thread",
	[DUMP_PATH_ALL] = "all",
	NULL,
};

int dump_path_options_check(const struct dump_path_options *options)
{
	const int status = dump_sample_options_check(&options->samples);

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
static int open_second(struct dump_path_session *run, const struct dump_options *options, const char *path)
{
	struct dump_filter *filter = &run->options.filter;
	int status;

	run->session.path = path;
	run->session.trace = NULL;
	run->options = *options;
	run->session.options = &run->options;
	filter->pids = (struct common_id_set){0};
	for (size_t i = 0; i < options->filter.pids.count; i++) {
		status = common_id_set_add(&filter->pids, options->filter.pids.ids[i]);
		if (status < 0)
			return status;
	}
	status = dump_session_open(&run->session);
	/* dump_session_open has reported the error. */
	if (status < 0)
		return common_fail(status, "there is nothing to compare with");
	return dump_filter_resolve(filter, ptl_trace_machine(run->session.trace), format_trace_end(run->session.trace));
}

int dump_path_session_open(struct dump_path_session *run, const struct dump_session *session, const char *second)
{
	run->session = *session;
	run->opened = second != NULL;
	return second ? open_second(run, session->options, second) : 0;
}

int dump_path_session_start(struct dump_path_session *run, const struct dump_path_options *options)
{
	run->paths.group = options->group;
	run->paths.max_depth = options->depth;
	run->paths.calls = &run->calls;
	return dump_call_session_open(&run->calls, &run->session);
}

int dump_path_session_run(struct dump_path_session *run, const struct dump_path_options *options)
{
	struct dump_call_observer observer = dump_paths_observer;
	int status = dump_path_session_start(run, options);

	observer.context = &run->paths;
	if (status < 0)
		return status;
	if (options->samples.enabled)
		return dump_samples_run(&run->calls, &options->samples, &observer, &run->samples);
	status = dump_call_session_run(&run->calls, &observer);
	if (status == 0 && !dump_functions_count(run->calls.functions))
		dump_samples_hint(&run->calls);
	return status;
}

int dump_path_session_by_time(const struct dump_path_session *runs, size_t count,
			      const struct dump_path_options *options, bool *by_time)
{
	*by_time = options->samples.enabled ? options->by != DUMP_PATH_SAMPLES : options->by == DUMP_PATH_TIME;
	for (size_t i = 0; options->samples.enabled && i < count; i++)
		*by_time &= runs[i].samples.timed;
	if (options->by_given && options->by == DUMP_PATH_PERIOD && !*by_time)
		return common_fail(PTL_MISUSE, "--by period: these are no samples of one counter, which have periods");
	return 0;
}

void dump_path_session_close(struct dump_path_session *run)
{
	dump_paths_free(&run->paths);
	dump_samples_free(&run->samples);
	if (run->calls.session)
		dump_call_session_close(&run->calls);
	if (!run->opened)
		return;
	run->damaged = dump_session_close(&run->session);
	common_id_set_free(&run->options.filter.pids);
}

void dump_path_session_left_out(const struct dump_path_session *run, struct dump_left_out *left_out)
{
	dump_left_out_add(left_out, run->paths.gaps, "gap, of which it is not known what ran",
			  "gaps, of which it is not known what ran");
	dump_left_out_add(left_out, run->samples.cut, "sample of too many paths, shown as its caller's",
			  "samples of too many paths, shown as their callers'");
	if (run->samples.count)
		dump_left_out_add(left_out, run->paths.cut_calls,
				  "sample too deep, or of too many paths, shown as its caller's",
				  "samples too deep, or of too many paths, shown as their callers'");
	else
		dump_left_out_add(left_out, run->paths.cut_calls,
				  "call too deep, or of too many paths, shown as its caller",
				  "calls too deep, or of too many paths, shown as their callers");
}
