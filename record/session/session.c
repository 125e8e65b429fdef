/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs one recording: starts the command, drains the sources until the end, closes the trace. */
#include "record/session/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "elf/debuginfod.h"
#include "record/capture/machine.h"
#include "record/capture/series.h"
#include "record/launch/signals.h"
#include "record/proc/proc_files.h"
#include "record/session/progress.h"

#define MILLISECOND 1000000ull
/* Maximum sleep if the last drain found data, and if the last drain found nothing. */
#define SLEEP_BUSY (4 * MILLISECOND)
#define SLEEP_IDLE (100 * MILLISECOND)
/* How long descendants may outlive the command. */
#define GRACE (200 * MILLISECOND)
#define PROGRESS_TIME (500 * MILLISECOND)
/* Memory in bytes for the end of a trace: buffers, compression, rundown. */
#define RESERVE (8u << 20)

/* ---- before the start ------------------------------------------------------------------------ */

/* Raises the limit of descriptors, because each traced process needs a descriptor. */
static void raise_file_limit(struct rlimit *before)
{
	struct rlimit raised;

	getrlimit(RLIMIT_NOFILE, before);
	raised = *before;
	raised.rlim_cur = raised.rlim_max;
	setrlimit(RLIMIT_NOFILE, &raised);
}

/* ---- while it runs --------------------------------------------------------------------------- */

/* A command shares the recorder's standard error. The progress line would overwrite messages of the command. */
static bool wants_progress(const struct record_session *session)
{
	const enum record_progress_wish wish = session->settings->progress;

	return wish == RECORD_PROGRESS_ALWAYS || (wish == RECORD_PROGRESS_ALONE && !session->has_command);
}

static void show_progress(struct record_session *session, uint64_t now)
{
	if (now - session->progress_shown < PROGRESS_TIME)
		return;
	session->progress_shown = now;
	if (wants_progress(session))
		record_progress_show(&session->capture, now - session->start);
	record_output_look(&session->capture.output);
}

static int drain_sources(struct record_session *session, bool *work)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < session->running_count; i++)
		status = session->running[i].source->drain(session->running[i].state, record_now(), work);
	return status;
}

/* Reaps children first: sources complete the data of an ended child afterwards. */
static int reap(struct record_session *session)
{
	int status = record_session_reap(session);

	for (size_t i = 0; status == 0 && i < session->running_count; i++)
		if (session->running[i].source->reap)
			status = session->running[i].source->reap(session->running[i].state);
	return status;
}

static int step_session(struct record_session *session, uint64_t now, bool *work)
{
	int status = drain_sources(session, work);

	if (status == 0)
		status = reap(session);
	/* Times of a compiler's map do not fit a virtual clock. */
	if (status == 0 && session->settings->clock != PTL_CLOCK_VIRTUAL)
		status = record_image_store_look(session->capture.images, now);
	return status < 0 ? status : record_capture_advance(&session->capture, now);
}

/* Checks whether the recording ends now. */
static bool is_over(const struct record_session *session, uint64_t now)
{
	if (session->leave)
		return true;
	if (session->settings->duration && now - session->start >= session->settings->duration)
		return true;
	if (session->capture.full)
		return true;
	if (!session->has_command)
		return session->failure || session->capture.output.broken;
	if (session->alone)
		return true;
	return session->ended && !session->settings->wait_for_all && now - session->end_of_command > GRACE;
}

/* Returns the nanoseconds to sleep, at most until the end of --duration. */
static uint64_t sleep_time(const struct record_session *session, uint64_t now, bool work)
{
	const uint64_t end = session->start + session->settings->duration;
	uint64_t until = now + (work ? SLEEP_BUSY : SLEEP_IDLE);

	for (size_t i = 0; !session->stopped && i < session->running_count; i++) {
		const struct record_running *running = &session->running[i];
		const uint64_t due = running->source->due ? running->source->due(running->state, now) : until;

		until = due < until ? due : until;
	}
	if (session->settings->duration && end < until)
		until = end;
	return until > now ? until - now : 0;
}

static void run_session(struct record_session *session)
{
	for (uint64_t now = record_now();; now = record_now()) {
		bool work = false;

		record_wait_look(&session->wait);
		record_session_signals(session);
		if (!session->failure)
			record_session_fail(session, step_session(session, now, &work));
		else
			(void)record_session_reap(session);
		if (session->failure || session->capture.output.broken)
			record_session_stop(session);
		show_progress(session, now);
		now = record_now();
		/* No process wakes the recorder after the last process ended: checks the end before the sleep. */
		if (is_over(session, now))
			break;
		record_wait_sleep(&session->wait, sleep_time(session, now, work));
	}
	session->timed_out = !session->leave && session->settings->duration &&
			     record_now() - session->start >= session->settings->duration;
	if (session->capture.full) {
		session->timed_out = true;
		common_message_note("the file has the size of --max-size: the recording ends");
	}
}

/* ---- the end --------------------------------------------------------------------------------- */

static void say_rest(uint64_t living)
{
	/* At least 1 process lives, even if the model counts none: a process that is not followed. */
	if (living <= 1)
		common_message_warning("1 process of the command still runs; what it does from now on "
				       "is not recorded");
	else
		common_message_warning("%llu processes of the command still run; what they do from now on is not "
				       "recorded",
				       (unsigned long long)living);
	common_message_hint("--wait records until the last descendant has ended");
}

static int lose_rest(struct record_session *session)
{
	struct record_model_counts counts;
	struct ptl_loss loss = {
		.kind = PTL_LOSS_END,
		.stream = PTL_NO_ID,
		.pid = PTL_NO_ID,
		.tid = PTL_NO_ID,
		.first_time = session->settings->clock == PTL_CLOCK_VIRTUAL
				      ? record_model_last_time(session->capture.model)
				      : record_now(),
		.cause = "the recording ended before the processes did",
	};

	record_model_counts(session->capture.model, &counts);
	loss.count = counts.living ? counts.living : 1;
	if (session->ended && !session->leave && !session->timed_out)
		say_rest(counts.living);
	return record_capture_loss(&session->capture, &loss);
}

/* Finishes the main source last: the main source runs the processes whose data other sources complete. */
static int finish_sources(struct record_session *session)
{
	int status = 0;

	if (!session->alone)
		record_session_stop(session);
	for (size_t i = session->running_count; status == 0 && i-- > 0;)
		status = session->running[i].source->finish(session->running[i].state, session->alone);
	if (status == 0)
		status = record_capture_advance(&session->capture, record_now());
	/* An attached process ran before the recording and goes on afterwards: no end is lost. */
	return status == 0 && !session->alone && session->has_command ? lose_rest(session) : status;
}

static int verdict_of(const struct record_session *session)
{
	const struct record_running *main_source = &session->running[0];

	return main_source->source->verdict ? main_source->source->verdict(main_source->state, session) : 0;
}

static bool stops_asking(void)
{
	const struct record_signals signals = record_signals_take();

	return signals.interrupts || signals.terminate;
}

/*
 * Asks debuginfod servers for images. The recording has ended, so slow answers delay nothing; the user can interrupt.
 */
static int ask_servers(struct record_session *session)
{
	int status;

	if (!session->settings->debuginfod || session->capture.output.failed)
		return 0;
	elf_debuginfod_hold(false);
	elf_debuginfod_stop_if(stops_asking);
	status = record_image_store_find(session->capture.images);
	if (status < 0)
		common_message_failure(status);
	elf_debuginfod_warn();
	return status;
}

/* Returns the exit status of a failed recording. The note shows the command's own status, which would be lost. */
static int exit_of_failure(const struct record_session *session)
{
	const int command = record_session_exit_status(session);

	if (session->ended && WIFEXITED(session->wait_status) && command)
		common_message_note("%s ended with status %d", session->settings->command[0], command);
	return COMMON_EXIT_SYSTEM;
}

/* Ends the recording. Returns the exit status of ptl-record. */
static int finish_session(struct record_session *session, const char *path)
{
	const uint64_t end = record_now();
	struct common_string_list others = {0};
	struct record_progress_end summary = {.others = &others};
	int verdict, status;

	if (!session->failure)
		record_session_fail(session, finish_sources(session));
	if (session->failure)
		common_message_error("%s", session->failure_text);
	verdict = verdict_of(session);
	if (verdict) {
		record_capture_discard(&session->capture);
		return verdict;
	}
	free(session->reserve);
	session->reserve = NULL;
	if (session->failure)
		record_capture_cut_short(&session->capture, session->failure_time, session->failure_text);
	status = session->failure ? session->failure : ask_servers(session);
	record_model_counts(session->capture.model, &summary.counts);
	if (session->settings->mode == RECORD_MODE_REALTIME)
		path = "real time";
	else if (session->capture.series && !session->capture.keeping.keeper) {
		snprintf(session->last, sizeof(session->last), "%s", record_series_path(session->capture.series));
		path = session->last;
		if (!record_series_in_memory(session->capture.series) &&
		    record_progress_series(session->capture.series, &summary) < 0 && status == 0) {
			status = common_fail(PTL_NO_MEMORY, "no memory for the names of the files");
			common_message_failure(status);
		}
	}
	session->path = path;
	if (record_capture_close(&session->capture, end) < 0 && status == 0) {
		status = PTL_SYSTEM;
		common_message_error("%s", ptl_error_text());
	}
	record_session_say_signal(session);
	summary.path = path;
	summary.failed = status < 0;
	record_progress_summary(&session->capture, &summary);
	for (size_t i = 0; i < others.count; i++)
		free((char *)(uintptr_t)others.list[i]);
	common_string_list_free(&others);
	if (record_capture_write_failed(&session->capture))
		status = PTL_SYSTEM;
	if (session->settings->outcome)
		*session->settings->outcome = (struct record_outcome){
			.recorded = status >= 0 && session->ended,
			.interrupted = record_signals_asked(),
			.wait_status = session->wait_status,
		};
	return status < 0 ? exit_of_failure(session) : record_session_exit_status(session);
}

/* ---- all ------------------------------------------------------------------------------------- */

static int open_sources(struct record_session *session, const struct record_source *const *sources)
{
	int status = record_wait_open(&session->wait);

	for (size_t i = 0; status == 0 && sources[i]; i++) {
		struct record_running *running = &session->running[session->running_count];

		running->source = sources[i];
		status = sources[i]->open(session, &running->state);
		session->running_count += status == 0;
	}
	return status < 0 ? status : record_wait_start(&session->wait);
}

/* Closes sources in reverse order: a source may use sources that were opened earlier. */
static void close_sources(struct record_session *session)
{
	record_wait_close(&session->wait);
	while (session->running_count) {
		const struct record_running *running = &session->running[--session->running_count];

		running->source->close(running->state);
	}
}

static int start_session(struct record_session *session, const struct record_command *command,
			 const struct rlimit *files)
{
	if (!command)
		return 0;
	/* Orphaned descendants become children of the recorder. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	return session->running[0].source->start(session->running[0].state, session, command, files);
}

/* Runs the command into the open trace. */
static int record_command(struct record_session *session, const struct record_source *const *sources,
			  const struct record_command *command, const char *path)
{
	struct rlimit files;
	int status;

	raise_file_limit(&files);
	session->reserve = malloc(RESERVE);
	session->start = record_now();
	status = open_sources(session, sources);
	if (status == 0)
		status = start_session(session, command, &files);
	/* A command that runs is waited for, whatever fails in the recorder. */
	if (status < 0 && session->pid > 0) {
		record_session_fail(session, status);
		status = 0;
	}
	if (status == 0) {
		run_session(session);
		status = finish_session(session, path);
	} else {
		common_message_failure(status);
		record_capture_discard(&session->capture);
		status = COMMON_EXIT_SYSTEM;
	}
	close_sources(session);
	free(session->reserve);
	return status;
}

static int record(struct record_session *session, const struct record_source *const *sources,
		  const struct record_command *command, const char *path)
{
	struct ptl_machine machine;
	int status;

	record_signals_start();
	record_machine_describe(session->settings, &machine);
	if (sources[0]->describe)
		sources[0]->describe(session->settings, &machine);
	status = record_capture_open(&session->capture, session->settings, path, &machine);
	if (status < 0)
		status = common_message_failure(status);
	else
		status = record_command(session, sources, command, path);
	record_signals_stop();
	return status;
}

/* Names the trace of a recording without a command: after the only process, or after the kind of recording. */
static char *path_without_command(const struct record_settings *settings)
{
	const struct common_id_set *pids = &settings->pt.pids;
	char name[64] = "", *path;

	if (pids->count == 1 && record_proc_name(pids->ids[0], name, sizeof(name)))
		for (char *at = name; (at = strchr(at, '/'));)
			*at = '_';
	if (!name[0])
		snprintf(name, sizeof(name), "%s", pids->count ? "running" : settings->attach ? "providers" : "system");
	return asprintf(&path, "%s.ptl", name) < 0 ? NULL : path;
}

char *record_session_path(const struct record_settings *settings)
{
	char *path;

	if (settings->output)
		return strdup(settings->output);
	if (settings->session_name) {
		if (asprintf(&path, "%s.ptl", settings->session_name) < 0)
			return NULL;
		return path;
	}
	if (!settings->command)
		return path_without_command(settings);
	if (asprintf(&path, "%s.ptl", common_base_name(settings->command[0])) < 0)
		return NULL;
	return path;
}

/*
 * Chooses the first path that does not exist: a.ptl, a.2.ptl, a.3.ptl, ... Only a path that the user did not choose is
 * numbered. Without memory, *path becomes NULL.
 */
static void number_path(const struct record_settings *settings, char **path)
{
	char *numbered = NULL;

	if (!*path || settings->output || settings->force || settings->append ||
	    settings->mode != RECORD_MODE_SEQUENTIAL || access(*path, F_OK) < 0)
		return;
	for (unsigned number = 2; !numbered || access(numbered, F_OK) == 0; number++) {
		char infix[16];

		free(numbered);
		snprintf(infix, sizeof(infix), ".%u", number);
		numbered = record_series_name(*path, infix);
		if (!numbered)
			break;
	}
	if (numbered)
		common_message_note("%s exists: the trace is %s", *path, numbered);
	free(*path);
	*path = numbered;
}

static int record_to(const struct record_source *const *sources, const struct record_settings *settings,
		     const struct record_command *command)
{
	struct record_session session = {.settings = settings, .has_command = command != NULL};
	char *path = record_session_path(settings);
	int status;

	number_path(settings, &path);
	session.path = path;
	if (path)
		status = record(&session, sources, command, path);
	else
		status = common_message_failure(common_fail_memory("file name", 0));
	free(path);
	return status;
}

/*
 * Refuses to record without /proc: the recorder reads running processes, threads and executable memory there, and would
 * miss events and processes silently.
 */
static int check_proc(void)
{
	struct record_proc_stat stat;

	if (record_proc_stat((uint32_t)getpid(), &stat))
		return 0;
	common_message_error("/proc does not show this process: nothing can be recorded");
	common_message_hint("mount -t proc proc /proc    in the root folder and the pid namespace of ptl-record");
	return COMMON_EXIT_SYSTEM;
}

int record_session(const struct record_source *const *sources, const struct record_settings *settings)
{
	struct record_command command;
	int status = check_proc();

	if (status)
		return status;
	if (!settings->command)
		return record_to(sources, settings, NULL);
	status = record_command_find(settings->command, sources[0]->native, &command);
	if (status) {
		common_message_error("%s", ptl_error_text());
		return status;
	}
	if (!strcmp(settings->source, "auto"))
		common_message_note("source %s: %s", sources[0]->name, sources[0]->summary);
	status = record_to(sources, settings, &command);
	record_command_free(&command);
	return status;
}
