/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts the command, drains what it gives until it ends, and closes the trace. */
#include "record/session/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "elf/debuginfod.h"
#include "record/capture/machine.h"
#include "record/launch/signals.h"
#include "record/session/progress.h"

#define MILLISECOND 1000000ull
/* How long to sleep at most while there is something to take each time, and while there is not. */
#define SLEEP_BUSY (4 * MILLISECOND)
#define SLEEP_IDLE (100 * MILLISECOND)
/* How long descendants may take to end after the command. */
#define GRACE (200 * MILLISECOND)
#define PROGRESS_TIME (500 * MILLISECOND)

/* ---- before the start ------------------------------------------------------------------------ */

/* Each traced process takes a descriptor. */
static void raise_file_limit(struct rlimit *before)
{
	struct rlimit raised;

	getrlimit(RLIMIT_NOFILE, before);
	raised = *before;
	raised.rlim_cur = raised.rlim_max;
	setrlimit(RLIMIT_NOFILE, &raised);
}

/* ---- while it runs --------------------------------------------------------------------------- */

/* The command has our standard error: what it shows there must not be written over. */
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

static int drain(struct record_session *session, bool *work)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < session->running_count; i++)
		status = session->running[i].source->drain(session->running[i].state, record_now(), work);
	return status;
}

/* Ends of children are known before what they left behind is completed. */
static int reap(struct record_session *session)
{
	int status = record_session_reap(session);

	for (size_t i = 0; status == 0 && i < session->running_count; i++)
		if (session->running[i].source->reap)
			status = session->running[i].source->reap(session->running[i].state);
	return status;
}

static int step(struct record_session *session, uint64_t now, bool *work)
{
	int status = drain(session, work);

	if (status == 0)
		status = reap(session);
	return status < 0 ? status : record_capture_advance(&session->capture, now);
}

/* Whether there is nothing more to record. */
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

/* Nanoseconds to sleep: no longer than what was asked for lasts. */
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

static void run(struct record_session *session)
{
	for (uint64_t now = record_now();; now = record_now()) {
		bool work = false;

		record_wait_look(&session->wait);
		record_session_signals(session);
		if (!session->failure)
			session->failure = step(session, now, &work);
		else
			(void)record_session_reap(session);
		if (session->failure || session->capture.output.broken)
			record_session_stop(session);
		show_progress(session, now);
		now = record_now();
		/* When the last process has ended, nobody rings any more. */
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
	/* One at least is there, even one that was not followed. */
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

/* What came to others by the main source is complete last. */
static int finish_sources(struct record_session *session)
{
	int status = 0;

	if (!session->alone)
		record_session_stop(session);
	for (size_t i = session->running_count; status == 0 && i-- > 0;)
		status = session->running[i].source->finish(session->running[i].state, session->alone);
	if (status == 0)
		status = record_capture_advance(&session->capture, record_now());
	/* What was attached to was there before and goes on: nothing of it is missing. */
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

/* What is recorded has ended, so that servers may take their time, as long as the user likes. */
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

/* Ends everything; returns ptl-record's exit status. */
static int finish(struct record_session *session, const char *path)
{
	const uint64_t end = record_now();
	struct record_model_counts counts;
	struct ptl_writer_counts written;
	int verdict, status = session->failure ? session->failure : finish_sources(session);

	if (status < 0)
		common_message_failure(status);
	verdict = verdict_of(session);
	if (verdict) {
		record_capture_discard(&session->capture);
		return verdict;
	}
	if (status == 0)
		status = ask_servers(session);
	record_model_counts(session->capture.model, &counts);
	record_capture_counts(&session->capture, &written);
	if (session->settings->mode == RECORD_MODE_REALTIME)
		path = "real time";
	else if (session->capture.series && !session->capture.keeper) {
		snprintf(session->last, sizeof(session->last), "%s", record_series_path(session->capture.series));
		path = session->last;
	}
	session->path = path;
	if (record_capture_close(&session->capture, end) < 0 && status == 0) {
		status = PTL_SYSTEM;
		common_message_error("%s", ptl_error_text());
	}
	record_session_say_signal(session);
	record_progress_summary(&session->capture, path, &counts, written.lost_buffers);
	if (session->capture.output.failed || session->capture.output.vanished || session->capture.series_failed)
		status = PTL_SYSTEM;
	/* The command's own failure says more than ours. */
	if (status < 0 && record_session_exit_status(session) == 0)
		return COMMON_EXIT_SYSTEM;
	return record_session_exit_status(session);
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

/* The last to be opened uses those before it. */
static void close_sources(struct record_session *session)
{
	record_wait_close(&session->wait);
	while (session->running_count) {
		const struct record_running *running = &session->running[--session->running_count];

		running->source->close(running->state);
	}
}

static int start(struct record_session *session, const struct record_command *command, const struct rlimit *files)
{
	if (!command)
		return 0;
	/* Descendants that lose their parent become our children. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	return session->running[0].source->start(session->running[0].state, session, command, files);
}

/* With the trace open: runs the command. */
static int record_command(struct record_session *session, const struct record_source *const *sources,
			  const struct record_command *command, const char *path)
{
	struct rlimit files;
	int status;

	raise_file_limit(&files);
	session->start = record_now();
	status = open_sources(session, sources);
	if (status == 0)
		status = start(session, command, &files);
	if (status == 0) {
		run(session);
		status = finish(session, path);
	} else {
		common_message_failure(status);
		record_capture_discard(&session->capture);
		status = COMMON_EXIT_SYSTEM;
	}
	close_sources(session);
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

/* "COMMAND.ptl" in the working directory; fresh memory. */
static char *default_path(const struct record_settings *settings)
{
	char *path;

	if (settings->session_name) {
		if (asprintf(&path, "%s.ptl", settings->session_name) < 0)
			return NULL;
		return path;
	}
	if (!settings->command)
		return strdup("providers.ptl");
	if (asprintf(&path, "%s.ptl", common_base_name(settings->command[0])) < 0)
		return NULL;
	return path;
}

static int record_to(const struct record_source *const *sources, const struct record_settings *settings,
		     const struct record_command *command)
{
	struct record_session session = {.settings = settings, .has_command = command != NULL};
	char *path = settings->output ? strdup(settings->output) : default_path(settings);
	int status;

	session.path = path;
	if (path)
		status = record(&session, sources, command, path);
	else
		status = common_message_failure(common_fail_memory("file name", 0));
	free(path);
	return status;
}

int record_session(const struct record_source *const *sources, const struct record_settings *settings)
{
	struct record_command command;
	int status;

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
