/* SPDX-License-Identifier: BSD-2-Clause */
/* The paths of calls of one trace, or of two that are compared. */
#include "dump/export/path_session.h"

#include "common/error.h"
#include "format/reader/trace_end.h"

const char *const dump_path_values[] = {"instructions", "time", NULL};
const char *const dump_path_groups[] = {
	[DUMP_PATH_PROGRAM] = "program",
	[DUMP_PATH_PROCESS] = "process",
	[DUMP_PATH_THREAD] = "thread",
	[DUMP_PATH_ALL] = "all",
	NULL,
};

/* The options as they were given: --process has not become --pid yet, and --time is of the clock of this trace. */
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
	/* It has been reported. */
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
	const int status = dump_path_session_start(run, options);

	observer.context = &run->paths;
	return status == 0 ? dump_call_session_run(&run->calls, &observer) : status;
}

void dump_path_session_close(struct dump_path_session *run)
{
	dump_paths_free(&run->paths);
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
	dump_left_out_add(left_out, run->paths.cut_calls, "call too deep, or of too many paths, shown as its caller",
			  "calls too deep, or of too many paths, shown as their callers");
}
