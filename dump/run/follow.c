/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits for new data of a growing trace, and for a signal of the user. */
#include "dump/run/follow.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/signals.h"
#include "dump/run/output.h"
#include "format/reader/session_files.h"

#define SECOND 1000000000u

static volatile sig_atomic_t signals;

static void note_signal(int number)
{
	(void)number;
	signals = signals + 1;
}

static bool is_interrupted(const struct dump_run *run)
{
	return signals > (strcmp(run->path, "-") == 0);
}

bool dump_follow_interrupted(void)
{
	return signals > 0;
}

static int session_idle(void *context, struct ptl_trace *trace)
{
	struct dump_run *run = context;
	int status = 0;

	/* While the trace is being opened, no output exists. */
	if (run->idle && run->trace == trace)
		status = run->idle(run);
	if (run->out)
		fflush(run->out);
	if (status == 0 && run->out)
		status = dump_output_check(run);
	if (status == 0 && is_interrupted(run))
		status = common_fail(PTL_CANCELLED, "interrupted");
	return status;
}

/* Opens the file of a session by its descriptor: the file may have lost its name, or may never have had a name. */
static int open_trace(struct dump_run *run, const struct ptl_realtime_options *realtime)
{
	const struct format_session_files *files = run->options->session;
	int fd, status;

	if (!files)
		return ptl_open_realtime(run->path, realtime, &run->trace);
	fd = fcntl(files->fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return common_fail_errno("cannot open %s", run->path);
	status = ptl_open_realtime_fd(fd, run->path, realtime, &run->trace);
	if (status)
		close(fd);
	return status;
}

int dump_follow_open(struct dump_run *run, const struct ptl_open_options *options)
{
	static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
	const struct ptl_realtime_options realtime = {
		.size = sizeof(realtime), .open = options, .idle = session_idle, .context = run};

	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++)
		common_signal_catch_unignored(ending[i], note_signal, 0, NULL);
	return open_trace(run, &realtime);
}

int dump_follow_end(const struct dump_run *run, int status)
{
	return status == PTL_CANCELLED && !(run->output && run->output->error) && is_interrupted(run) ? 0 : status;
}

int dump_follow_wait(struct dump_run *run)
{
	bool more;
	int status;

	do
		status = ptl_realtime_wait(run->trace, SECOND, &more);
	while (status == 0 && !ptl_realtime_over(run->trace));
	return dump_follow_end(run, status);
}
