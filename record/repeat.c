/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs of a command, and the names of their traces. */
#include "record/repeat.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "common/plural.h"
#include "common/program/message.h"
#include "record/capture/series.h"
#include "record/launch/signals.h"
#include "record/session/session.h"

#define WAIT_MILLISECONDS 100 /* between two looks at signals */

/* Traces, by name: "a.ptl" is the failed run, "a.passed.ptl" the last run that passed, ... */
enum repeat_name { REPEAT_FAILED, REPEAT_PASSED, REPEAT_INTERRUPTED, REPEAT_RUNNING, REPEAT_NAMES };

struct repeat {
	const struct record_settings *settings;
	int (*run)(const struct record_settings *settings);
	char *names[REPEAT_NAMES];
	bool kept[REPEAT_NAMES];        /* this program has written the file */
	struct record_outcome *outcome; /* shared with the children */
	uint64_t runs, passed;
};

/* ---- options ------------------------------------------------------------------------------------- */

int record_repeat_check(const struct record_settings *settings)
{
	const struct {
		bool given;
		const char *option, *hint;
	} others[] = {
		{settings->append, "--append", NULL},
		{settings->mode != RECORD_MODE_SEQUENTIAL, "--mode", NULL},
		{settings->duration != 0, "--duration",
		 "ptl-record --until-failure -- timeout TIME COMMAND: a run that hangs fails"},
		{settings->session_name != NULL, "a session", NULL},
		{settings->output && (!strcmp(settings->output, "-") || !strncmp(settings->output, "/dev/", 5)),
		 "a pipe as output", NULL},
	};

	if (settings->runs && !settings->until_failure) {
		common_message_error("--runs is for --until-failure");
		return COMMON_EXIT_USAGE;
	}
	if (settings->until_failure && !settings->command) {
		common_message_error("--until-failure repeats a command, and no command is given");
		common_message_hint("ptl-record --until-failure -- COMMAND");
		return COMMON_EXIT_USAGE;
	}
	for (size_t i = 0; settings->until_failure && i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i].given) {
			common_message_error("--until-failure does not go with %s", others[i].option);
			if (others[i].hint)
				common_message_hint("%s", others[i].hint);
			return COMMON_EXIT_USAGE;
		}
	return COMMON_EXIT_OK;
}

/* ---- files --------------------------------------------------------------------------------------- */

static int repeat_make_names(struct repeat *repeat)
{
	static const char *const infixes[] = {[REPEAT_FAILED] = "",
					      [REPEAT_PASSED] = ".passed",
					      [REPEAT_INTERRUPTED] = ".interrupted",
					      [REPEAT_RUNNING] = ".run"};
	char *path = record_session_path(repeat->settings);

	for (size_t i = 0; path && i < REPEAT_NAMES; i++)
		repeat->names[i] = record_series_name(path, infixes[i]);
	free(path);
	for (size_t i = 0; i < REPEAT_NAMES; i++)
		if (!repeat->names[i])
			return common_fail_memory("file names", REPEAT_NAMES);
	return 0;
}

/* Refuses files of the user before the first run, not after an hour of runs. */
static int repeat_check_names(const struct repeat *repeat)
{
	for (size_t i = 0; i < REPEAT_NAMES; i++) {
		if (!repeat->settings->force && access(repeat->names[i], F_OK) == 0)
			return common_fail(PTL_SYSTEM, "%s exists; -f replaces it, -o names another", repeat->names[i]);
		if (common_file_check_recorded(repeat->names[i]) < 0)
			return PTL_SYSTEM;
	}
	return 0;
}

/* Gives the trace of the run its final name. A file that appeared meanwhile is another program's. */
static int repeat_keep(struct repeat *repeat, enum repeat_name name)
{
	const char *from = repeat->names[REPEAT_RUNNING], *to = repeat->names[name];
	const bool replace = repeat->settings->force || repeat->kept[name];
	int status = replace ? common_file_check_recorded(to) : 0;

	if (status == 0 && (replace ? rename(from, to) : common_rename_new(from, to)) < 0)
		status = common_fail_errno("cannot rename %s to %s", from, to);
	if (status == 0)
		repeat->kept[name] = true;
	return status;
}

/* ---- runs ---------------------------------------------------------------------------------------- */

static int repeat_child(const struct repeat *repeat)
{
	struct record_settings own = *repeat->settings;
	int status;

	record_signals_stop();
	common_message_start("ptl-record", true);
	own.output = repeat->names[REPEAT_RUNNING];
	own.outcome = repeat->outcome;
	own.until_failure = false;
	status = repeat->run(&own);
	fflush(stdout);
	return status;
}

/* Waits for the recorder of the run, and passes on signals that ask for the end. */
static int repeat_wait(pid_t child, bool *asked)
{
	int wait_status;

	for (pid_t gone; (gone = waitpid(child, &wait_status, WNOHANG)) != child;) {
		const struct record_signals signals = record_signals_take();

		if (gone < 0 && errno != EINTR)
			return COMMON_EXIT_SYSTEM;
		/* The terminal sends an interrupt to the child, too. */
		*asked |= signals.interrupts || signals.terminate;
		if (signals.terminate)
			kill(child, signals.terminate);
		if (signals.snapshots)
			kill(child, SIGUSR2);
		poll(NULL, 0, WAIT_MILLISECONDS);
	}
	return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : COMMON_EXIT_SYSTEM;
}

/* Returns the exit status of the run. */
static int repeat_run(struct repeat *repeat, bool *asked)
{
	pid_t child;

	*repeat->outcome = (struct record_outcome){0};
	fflush(stdout);
	child = fork();
	if (child == 0)
		_exit(repeat_child(repeat));
	if (child < 0) {
		common_message_error("cannot start a run: %s", strerror(errno));
		return COMMON_EXIT_SYSTEM;
	}
	repeat->runs++;
	return repeat_wait(child, asked);
}

static void say_passed(const struct repeat *repeat)
{
	if (repeat->kept[REPEAT_PASSED])
		common_message_note("the last run that passed is in %s", repeat->names[REPEAT_PASSED]);
}

static int say_failed(const struct repeat *repeat, int status)
{
	common_message_note("run %" PRIu64 " failed with status %d; its trace is %s", repeat->runs, status,
			    repeat->names[REPEAT_FAILED]);
	say_passed(repeat);
	common_message_hint("ptl-dump crash %s", repeat->names[REPEAT_FAILED]);
	if (repeat->kept[REPEAT_PASSED])
		common_message_hint("ptl-dump diff %s %s", repeat->names[REPEAT_PASSED], repeat->names[REPEAT_FAILED]);
	return status;
}

static int say_interrupted(const struct repeat *repeat, int status)
{
	common_message_note("interrupted in run %" PRIu64 "; its trace is %s", repeat->runs,
			    repeat->names[REPEAT_INTERRUPTED]);
	say_passed(repeat);
	return status ? status : 128 + SIGINT;
}

/* Records run after run. Returns an exit status; *failure: a status of ptl_status. */
static int repeat_all(struct repeat *repeat, int *failure)
{
	const uint32_t most = repeat->settings->runs;
	bool asked = false;

	while (!asked && (!most || repeat->runs < most)) {
		const int status = repeat_run(repeat, &asked);

		/* The recorder failed, and has said why. */
		if (!repeat->outcome->recorded)
			return status ? status : COMMON_EXIT_SYSTEM;
		asked |= repeat->outcome->interrupted;
		if (asked) {
			*failure = repeat_keep(repeat, REPEAT_INTERRUPTED);
			return *failure ? 0 : say_interrupted(repeat, status);
		}
		if (status) {
			*failure = repeat_keep(repeat, REPEAT_FAILED);
			return *failure ? 0 : say_failed(repeat, status);
		}
		*failure = repeat_keep(repeat, REPEAT_PASSED);
		if (*failure)
			return 0;
		repeat->passed++;
	}
	common_message_note("no failure in %" PRIu64 " " COMMON_PLURAL("run", "runs"), repeat->runs);
	say_passed(repeat);
	return COMMON_EXIT_OK;
}

int record_repeat(const struct record_settings *settings, int (*run)(const struct record_settings *settings))
{
	struct repeat repeat = {.settings = settings, .run = run};
	int exit_status = 0, status = repeat_make_names(&repeat);

	repeat.outcome = mmap(NULL, sizeof(*repeat.outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (repeat.outcome == MAP_FAILED)
		status = common_fail_errno("no shared memory");
	if (status == 0)
		status = repeat_check_names(&repeat);
	if (status == 0) {
		record_signals_start();
		exit_status = repeat_all(&repeat, &status);
		record_signals_stop();
	}
	if (status < 0)
		exit_status = common_message_failure(status);
	for (size_t i = 0; i < REPEAT_NAMES; i++)
		free(repeat.names[i]);
	if (repeat.outcome != MAP_FAILED)
		munmap(repeat.outcome, sizeof(*repeat.outcome));
	return exit_status;
}
