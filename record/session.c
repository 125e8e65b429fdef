/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts the command, drains what it gives until it ends, and closes the trace. */
#include "record/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "common/error.h"
#include "common/message.h"
#include "record/command.h"
#include "record/machine.h"
#include "record/progress.h"
#include "record/qemu_launch.h"
#include "record/qemu_tools.h"
#include "record/signals.h"
#include "record/source.h"

#define MILLISECOND 1000000ull
/* How long to sleep at most while there is something to take each time, and while there is not. */
#define SLEEP_BUSY 4
#define SLEEP_IDLE 100
/*
 * How long descendants may take to end after the command, and threads to notice that tracing has
 * ended.
 */
#define GRACE (200 * MILLISECOND)
#define STOP_TIME (500 * MILLISECOND)
#define PROGRESS_TIME (500 * MILLISECOND)
#define MESSAGE_RING (128u << 10)
#define TRUTH_RING (4u << 20)
#define VIRTUAL_START 1 /* nanoseconds; 0 would mean unknown */

/* ---- before the start ------------------------------------------------------------------------ */

static void describe_machine(const struct record_settings *settings, struct ptl_machine *machine)
{
	record_machine_describe(settings, machine);
	snprintf(machine->source, sizeof(machine->source), "qemu");
	machine->software = true;
	if (settings->clock == PTL_CLOCK_VIRTUAL)
		machine->start_time = VIRTUAL_START;
	/* A tick of the TSC is a nanosecond of the trace's clock. */
	machine->tsc_multiplier = 1;
	machine->tsc_frequency = PTL_QEMU_TSC_HZ;
	machine->mtc_frequency = PTL_QEMU_MTC_SHIFT_DEFAULT;
	machine->ctc_numerator = PTL_QEMU_CPUID_15_EBX;
	machine->ctc_denominator = PTL_QEMU_CPUID_15_EAX;
	machine->nominal_ratio = PTL_QEMU_NOMINAL_RATIO;
}

static void configure(const struct record_settings *settings, const struct record_qemu_tools *tools,
		      struct ptl_channel_config *config)
{
	*config = (struct ptl_channel_config){
		.slot_count = settings->threads_max,
		.timing = settings->timing,
		.clock = settings->clock,
		.return_compression = settings->return_compression,
		.truth = settings->truth != NULL,
		.mtc_shift = PTL_QEMU_MTC_SHIFT_DEFAULT,
		.psb_period = settings->psb_period,
		.pt_ring_size = settings->ring_size,
		.message_ring_size = MESSAGE_RING,
		.truth_ring_size = settings->truth ? TRUTH_RING : 0,
		.virtual_start = VIRTUAL_START,
	};
	snprintf(config->plugin_path, sizeof(config->plugin_path), "%s", tools->plugin);
	snprintf(config->qemu_path, sizeof(config->qemu_path), "%s", tools->qemu);
}

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

static void show_progress(struct record_session *session, uint64_t now)
{
	if (!session->settings->progress || now - session->progress_shown < PROGRESS_TIME)
		return;
	session->progress_shown = now;
	record_progress_show(&session->capture, now - session->start);
	record_output_look(&session->capture.output);
}

static int step(struct record_session *session, uint64_t now, bool *work)
{
	int status = record_qemu_drain(&session->qemu, work);

	if (status == 0)
		status = record_session_reap(session);
	if (status == 0)
		status = record_qemu_bury(&session->qemu);
	if (status == 0)
		status = record_capture_advance(&session->capture, now, false);
	return status;
}

/* Whether there is nothing more to record. */
static bool is_over(const struct record_session *session, uint64_t now)
{
	if (session->leave || session->alone)
		return true;
	return session->ended && !session->settings->wait_for_all &&
	       now - session->end_of_command > GRACE;
}

static void run(struct record_session *session)
{
	for (uint64_t now = record_now();; now = record_now()) {
		uint32_t *doorbell = &session->qemu.channel.header->doorbell;
		const uint32_t seen = __atomic_load_n(doorbell, __ATOMIC_SEQ_CST);
		bool work = false;

		record_session_signals(session);
		if (!session->failure)
			session->failure = step(session, now, &work);
		else
			(void)record_session_reap(session);
		if (session->failure || session->capture.output.broken)
			record_session_stop(session);
		show_progress(session, now);
		/* When the last process has ended, nobody rings any more. */
		if (is_over(session, record_now()))
			return;
		ptl_channel_wait(&session->qemu.channel, seen, work ? SLEEP_BUSY : SLEEP_IDLE);
	}
}

/* ---- the end --------------------------------------------------------------------------------- */

static void say_rest(uint64_t living)
{
	/* One at least is there, be it one that was not followed. */
	if (living <= 1)
		ptl_message_warning("1 process of the command still runs; what it does from now on "
				    "is not recorded");
	else
		ptl_message_warning(
			"%llu processes of the command still run; what they do from now on is not "
			"recorded",
			(unsigned long long)living);
	ptl_message_hint("--wait records until the last descendant has ended");
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
	if (session->ended && !session->leave)
		say_rest(counts.living);
	return record_capture_loss(&session->capture, &loss);
}

/*
 * Threads end their streams themselves when they notice; those that sleep in the kernel have
 * nothing to add.
 */
static int wait_for_threads(struct record_session *session)
{
	const uint64_t start = record_now();
	bool work = true;
	int status = 0;

	while (status == 0 && (work || (record_qemu_has_live_slots(&session->qemu) &&
					record_now() - start < STOP_TIME))) {
		const uint32_t seen = __atomic_load_n(&session->qemu.channel.header->doorbell,
						      __ATOMIC_SEQ_CST);

		work = false;
		status = record_qemu_drain(&session->qemu, &work);
		if (!work)
			ptl_channel_wait(&session->qemu.channel, seen, SLEEP_BUSY);
	}
	return status;
}

static int finish_source(struct record_session *session)
{
	int status;

	if (session->alone)
		return record_qemu_bury_all(&session->qemu);
	record_session_stop(session);
	status = wait_for_threads(session);
	if (status == 0)
		status = record_qemu_bury(&session->qemu);
	if (status == 0)
		status = record_capture_advance(&session->capture, record_now(), true);
	return status == 0 ? lose_rest(session) : status;
}

static bool had_no_program(const struct record_session *session)
{
	return session->ended && !session->qemu.processes_seen;
}

/* QEMU ended without a word of the plugin: it has said why, on the command's stderr. */
static int explain_no_program(const struct record_session *session)
{
	const char *qemu = session->qemu.channel.config.qemu_path;
	char version[128];

	record_qemu_version(qemu, version, sizeof(version));
	ptl_message_error("%s did not start the program (its exit status was %d)", qemu,
			  record_session_exit_status(session));
	ptl_message_hint("this plugin is for the plugin interface of QEMU 7.2 (Debian 12's "
			 "qemu-user); this is: %s",
			 version[0] ? version : "a program that does not tell its version");
	return PTL_EXIT_SYSTEM;
}

/* Ends everything; returns ptl-record's exit status. */
static int finish(struct record_session *session, const char *path)
{
	const uint64_t end = record_now();
	struct record_model_counts counts;
	struct ptl_writer_counts written;
	bool no_program;
	int status = session->failure ? session->failure : finish_source(session);

	if (status == 0)
		status = record_capture_advance(&session->capture, end, true);
	if (status == 0)
		status = record_qemu_count_losses(&session->qemu);
	if (status < 0)
		ptl_message_failure(status);
	record_model_counts(session->capture.model, &counts);
	ptl_writer_counts(session->capture.output.writer, &written);
	no_program = had_no_program(session);
	if (record_capture_close(&session->capture, end) < 0 && status == 0) {
		status = PTL_SYSTEM;
		ptl_message_error("%s", ptl_error_text());
	}
	record_progress_summary(&session->capture, path, &counts, written.lost_buffers);
	if (no_program)
		return explain_no_program(session);
	if (session->capture.output.failed || session->capture.output.vanished)
		status = PTL_SYSTEM;
	/* The command's own failure says more than ours. */
	if (status < 0 && record_session_exit_status(session) == 0)
		return PTL_EXIT_SYSTEM;
	return record_session_exit_status(session);
}

/* ---- all ------------------------------------------------------------------------------------- */

static int start(struct record_session *session, const struct record_command *command,
		 const struct rlimit *files)
{
	/* Descendants that lose their parent become our children. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	record_signals_ring(&session->qemu.channel.header->doorbell);
	session->start = record_now();
	return record_qemu_launch(command, &session->qemu.channel, files, &session->pid);
}

/* With the trace open: runs the command. */
static int record_command(struct record_session *session, const struct record_command *command,
			  const struct record_qemu_tools *tools, const char *path)
{
	struct ptl_channel_config config;
	struct rlimit files;
	int status;

	raise_file_limit(&files);
	configure(session->settings, tools, &config);
	status = record_qemu_open(&session->qemu, &session->capture, &config);
	if (status == 0)
		status = start(session, command, &files);
	if (status == 0) {
		run(session);
		status = finish(session, path);
	} else {
		ptl_message_failure(status);
		(void)record_capture_close(&session->capture, record_now());
		status = PTL_EXIT_SYSTEM;
	}
	record_signals_ring(NULL);
	record_qemu_close(&session->qemu);
	return status;
}

static int record(struct record_session *session, const struct record_command *command,
		  const struct record_qemu_tools *tools, const char *path)
{
	struct ptl_machine machine;
	int status;

	record_signals_start();
	describe_machine(session->settings, &machine);
	status = record_capture_open(&session->capture, session->settings, path, &machine);
	if (status < 0)
		status = ptl_message_failure(status);
	else
		status = record_command(session, command, tools, path);
	record_signals_stop();
	return status;
}

/* "COMMAND.ptl" in the working directory; fresh memory. */
static char *default_path(const struct record_settings *settings)
{
	char *path;

	if (asprintf(&path, "%s.ptl", record_base_name(settings->command[0])) < 0)
		return NULL;
	return path;
}

int record_qemu_session(const struct record_source *source, const struct record_settings *settings)
{
	struct record_session session = {.settings = settings};
	struct record_qemu_tools tools;
	struct record_command command;
	char hint[512], *path;
	int status = record_qemu_tools_find(settings->qemu, &tools, hint, sizeof(hint));

	if (status < 0)
		return ptl_message_failure(status);
	status = record_command_find(settings->command, &command);
	if (status) {
		ptl_message_error("%s", ptl_error_text());
		return status;
	}
	if (!strcmp(settings->source, "auto"))
		ptl_message_note("source %s: %s", source->name, source->summary);
	path = settings->output ? strdup(settings->output) : default_path(settings);
	if (path)
		status = record(&session, &command, &tools, path);
	else
		status = ptl_message_failure(ptl_fail_memory("file name", 0));
	free(path);
	record_command_free(&command);
	return status;
}
