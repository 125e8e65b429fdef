/* SPDX-License-Identifier: BSD-2-Clause */
/* Recording with the software source: packets made by a translator in the traced processes. */
#include "record/software/session.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/program/options.h"
#include "record/capture/machine.h"
#include "record/channel/source.h"
#include "record/proc/target.h"
#include "record/session/session.h"
#include "record/software/attach.h"
#include "record/software/functions.h"
#include "record/software/image.h"
#include "record/software/images.h"
#include "record/software/kick.h"
#include "record/software/launch.h"
#include "record/software/watch.h"
#include "record/value/spec.h"
#include "record/value/values.h"

#define MILLISECOND 1000000ull
#define SLEEP_BUSY 4
/* time for threads to notice the end of tracing */
#define STOP_TIME (500 * MILLISECOND)
/* time for running threads to leave, before threads in system calls are interrupted */
#define LEAVE_TIME (50 * MILLISECOND)
/* time for an attached process to continue; a stopped process continues with SIGCONT, at any time */
#define BEGIN_TIME (2000 * MILLISECOND)
#define MESSAGE_RING (128u << 10)
#define VALUE_RING (1u << 20) /* message ring with --values */
#define VIRTUAL_START 1       /* nanoseconds; 0 would mean unknown */

struct software_session {
	struct record_channel channel;
	struct record_session *session;
	struct software_function start_at, stop_at;
	struct record_values *values; /* NULL: no --values */
	struct software_watch watch;
	uint64_t opened;   /* record_now() */
	bool began;        /* an attached process has written packets */
	char near[512];    /* name of a function that start_at may mean */
	bool changes_user; /* the command's file is set-user-ID or set-group-ID of another user or group */
};

static struct record_channel *channel_of(void *state)
{
	return &((struct software_session *)state)->channel;
}

/* ---- before the start ------------------------------------------------------------------------ */

static void describe(const struct record_settings *settings, struct ptl_machine *machine)
{
	snprintf(machine->source, sizeof(machine->source), "software");
	machine->software = true;
	if (settings->clock == PTL_CLOCK_VIRTUAL)
		machine->start_time = VIRTUAL_START;
	/* A TSC tick is a nanosecond of the trace's clock. */
	machine->tsc_multiplier = 1;
	machine->tsc_frequency = CHANNEL_TSC_HZ;
	machine->mtc_frequency = CHANNEL_MTC_SHIFT_DEFAULT;
	machine->ctc_numerator = CHANNEL_CPUID_15_EBX;
	machine->ctc_denominator = CHANNEL_CPUID_15_EAX;
	machine->nominal_ratio = CHANNEL_NOMINAL_RATIO;
}

static void configure(const struct record_settings *settings, struct channel_config *config)
{
	*config = (struct channel_config){
		.slot_count = settings->threads_max,
		.timing = settings->timing,
		.clock = settings->clock,
		.return_compression = settings->return_compression,
		.mtc_shift = CHANNEL_MTC_SHIFT_DEFAULT,
		.stops = settings->stop_at != NULL,
		.values_size = settings->values.count ? sizeof(struct channel_values) : 0,
		.cpu_count = settings->per_cpu,
		.psb_period = settings->psb_period,
		.pt_ring_size = settings->ring_size,
		.message_ring_size = settings->values.count ? VALUE_RING : MESSAGE_RING,
		.virtual_start = VIRTUAL_START,
	};
	software_image_describe(config);
}

static int check(const struct record_settings *settings, char *hint, size_t hint_size)
{
	(void)settings;
	hint[0] = 0;
	(void)hint_size;
	return 0;
}

/* Waits for the runtimes' rings and for ends of processes. */
static int wait_for(struct record_wait *wait, const struct record_channel *channel)
{
	struct channel_header *header = channel->channel.header;
	const struct record_doorbell doorbell = {&header->doorbell, &header->recorder_waiting};

	record_wait_doorbell(wait, &doorbell);
	return record_wait_descriptor(wait, channel->epoll);
}

/* Publishes the addresses of the --stop-at function in a newly mapped file. */
static void find_stops(const struct software_session *session, struct channel_header *header, const char *path,
		       const struct channel_message_image *message)
{
	uint64_t offsets[SOFTWARE_FUNCTIONS_MAX];
	size_t count;
	uint32_t used = header->stop_count;

	for (uint32_t i = 0; i < used && i < CHANNEL_STOPS_MAX; i++)
		if (header->stop_places[i].device == message->device && header->stop_places[i].inode == message->inode)
			return;
	if (!software_function_is_in(&session->stop_at, path))
		return;
	count = software_function_find(&session->stop_at, path, offsets, NULL, 0);
	for (size_t i = 0; i < count && used < CHANNEL_STOPS_MAX; i++)
		header->stop_places[used++] = (struct channel_stop_place){message->device, message->inode, offsets[i]};
	__atomic_store_n(&header->stop_count, used, __ATOMIC_RELEASE);
}

/* Does what a newly mapped file needs before the program goes on. */
static void on_image(void *context, struct channel_header *header, const struct channel_message_image *message)
{
	struct software_session *session = context;
	char path[CHANNEL_PATH_SIZE];

	if (!message->path_length || message->path_length >= sizeof(path))
		return;
	memcpy(path, message + 1, message->path_length);
	path[message->path_length] = 0;
	if (session->session->settings->stop_at)
		find_stops(session, header, path, message);
	/* Without memory for values, the recording ends at the next use of memory. */
	if (session->values)
		(void)record_values_image(session->values, path, message->device, message->inode);
}

static int on_values(void *context, const struct channel_message_values *message)
{
	return record_values_take(((struct software_session *)context)->values, message);
}

static int parse_functions(const struct record_settings *settings, struct software_session *made)
{
	int status = 0;

	if (settings->start_at)
		status = software_function_parse(settings->start_at, &made->start_at);
	if (status == 0 && settings->stop_at)
		status = software_function_parse(settings->stop_at, &made->stop_at);
	return status;
}

/* Attaches to running processes, and starts the watching process of --start-at. */
static int begin_session(struct software_session *made, const struct record_settings *settings)
{
	const struct channel *channel = &made->channel.channel;
	int status = 0;

	made->channel.context = made;
	if (settings->stop_at || made->values)
		made->channel.on_image = on_image;
	if (made->values)
		made->channel.on_values = on_values;
	if (settings->start_at)
		status = software_watch_start(channel, &made->start_at, &made->watch);
	if (status == 0 && settings->start_at)
		status = record_wait_descriptor(&made->session->wait, made->watch.attached);
	for (size_t i = 0; status == 0 && i < settings->pt.pids.count; i++)
		status = software_images_read(&made->session->capture, settings->pt.pids.ids[i]);
	for (size_t i = 0; status == 0 && i < settings->pt.pids.count; i++)
		status = settings->start_at ? software_watch_process(&made->watch, settings->pt.pids.ids[i])
					    : software_attach(channel, settings->pt.pids.ids[i]);
	if (status < 0)
		software_watch_stop(&made->watch);
	return status;
}

static int open_source(struct record_session *session, void **state)
{
	struct software_session *made = calloc(1, sizeof(*made));
	struct channel_config config;
	int status;

	if (!made)
		return common_fail_memory("software source", sizeof(*made));
	made->session = session;
	made->opened = record_now();
	configure(session->settings, &config);
	status = parse_functions(session->settings, made);
	if (status < 0) {
		free(made);
		return status;
	}
	status = record_channel_open(&made->channel, &session->capture, &config);
	if (status == 0)
		software_image_write(&config, made->channel.channel.base + CHANNEL_HEADER_SIZE);
	if (status == 0) {
		status = wait_for(&session->wait, &made->channel);
		if (status == 0 && config.values_size)
			status = record_values_new(
				&session->settings->values, &session->capture,
				(void *)(made->channel.channel.base + channel_values_offset(&config)), &made->values);
		if (status == 0)
			status = begin_session(made, session->settings);
		if (status < 0)
			record_channel_close(&made->channel);
	}
	if (status < 0) {
		record_values_free(made->values);
		free(made);
	} else
		*state = made;
	return status;
}

static bool changes_user(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 &&
	       ((info.st_mode & S_ISUID && info.st_uid != geteuid()) ||
		(info.st_mode & S_ISGID && info.st_mode & S_IXGRP && info.st_gid != getegid()));
}

/*
 * Checks for the function before the start. The check is conclusive only for a static program or a named file:
 * otherwise a library or another program may have the function.
 * near: receives a similar function name.
 */
static int check_function(const char *text, const struct software_function *function, const char *path, char *near,
			  size_t near_size)
{
	uint64_t offsets[SOFTWARE_FUNCTIONS_MAX];
	const bool is_path = function->file[0] == '/';
	const char *file = is_path ? function->file : path;
	const bool is_named = is_path || (function->file[0] && software_function_is_in(function, path));

	near[0] = 0;
	if (is_path && access(file, R_OK) < 0)
		return common_fail_errno("%s", file);
	if (software_function_find(function, file, offsets, near, near_size))
		return 0;
	if (is_named || (!function->file[0] && record_target_is_static(path)))
		return common_fail(PTL_NOT_FOUND, "\"%s\": %s has no function of this name%s%s%s", text, file,
				   near[0] ? " (did you mean '" : "", near, near[0] ? "'?)" : "");
	if (near[0])
		common_message_note("%s has no function '%s' (did you mean '%s'?); its libraries may have", path,
				    function->name, near);
	return 0;
}

static int start(void *state, struct record_session *session, const struct record_command *command,
		 const struct rlimit *files)
{
	struct software_session *software = state;
	int status = 0;

	software->changes_user = changes_user(command->path);
	if (session->settings->start_at)
		status = check_function(session->settings->start_at, &software->start_at, command->path, software->near,
					sizeof(software->near));
	if (status == 0 && session->settings->stop_at) {
		char near[512];

		status = check_function(session->settings->stop_at, &software->stop_at, command->path, near,
					sizeof(near));
	}
	if (status < 0) {
		software_watch_stop(&software->watch);
		return status;
	}
	return software_launch(command, &software->channel.channel,
			       session->settings->start_at ? &software->watch : NULL, files, &session->pid);
}

/* ---- while it runs --------------------------------------------------------------------------- */

static int drain(void *state, uint64_t now, bool *work)
{
	struct software_session *software = state;
	struct record_session *session = software->session;

	int status;

	(void)now;
	software_watch_hear(&software->watch);
	status = record_channel_drain(channel_of(state), work);
	/* --duration begins once an attached process has continued: reading its files may take a while. */
	if (!session->has_command && !software->began) {
		session->start = record_now();
		software->began = session->capture.pt_bytes || record_now() - software->opened > BEGIN_TIME;
	}
	return status;
}

static int reap(void *state)
{
	const struct record_channel *channel = channel_of(state);
	const struct software_session *software = state;
	struct record_session *session = software->session;
	const int status = record_channel_reap(channel_of(state));

	/* All attached processes and descendants have ended or run natively, and nobody can reach the function. */
	if (!session->has_command && (channel->processes_seen || session->settings->start_at) &&
	    !software_watch_goes_on(&software->watch) && !record_channel_has_live_slots(channel))
		session->leave = true;
	return status;
}

static int exited(void *state, uint32_t pid, uint32_t wait_status)
{
	return record_capture_exit_status(channel_of(state)->capture, pid, wait_status);
}

static void stop(void *state)
{
	software_watch_stop(&((struct software_session *)state)->watch);
	channel_stop(&channel_of(state)->channel);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Waits until threads have ended their streams. Threads that sleep in the kernel have no more packets to write. */
static int wait_for_threads(struct record_channel *channel, uint64_t most)
{
	const uint64_t start = record_now();
	bool work = true;
	int status = 0;

	while (status == 0 && (work || (record_channel_has_live_slots(channel) && record_now() - start < most))) {
		const uint32_t seen = __atomic_load_n(&channel->channel.header->doorbell, __ATOMIC_SEQ_CST);

		work = false;
		status = record_channel_drain(channel, &work);
		if (!work)
			channel_wait(&channel->channel, seen, SLEEP_BUSY);
	}
	return status;
}

static int finish(void *state, bool alone)
{
	const struct record_values *values = ((struct software_session *)state)->values;
	struct record_channel *channel = channel_of(state);
	int status;

	if (alone) {
		status = record_channel_reap_all(channel);
	} else {
		status = wait_for_threads(channel, LEAVE_TIME);
		if (status == 0 && record_channel_has_live_slots(channel)) {
			software_kick_all(channel);
			status = wait_for_threads(channel, STOP_TIME);
		}
		if (status == 0)
			status = record_channel_reap(channel);
		if (status == 0)
			status = record_channel_order_deliver(&channel->order, record_now(), true);
	}
	if (status == 0)
		status = record_channel_cpus_finish(&channel->cpus);
	if (status == 0 && values) {
		record_values_finish(values);
		status = record_values_losses(values);
	}
	return status == 0 ? record_channel_count_losses(channel) : status;
}

/* Returns the exit status if no process reached the --start-at function, or no process of the command was traced. */
static int verdict(void *state, const struct record_session *session)
{
	const struct record_channel *channel = channel_of(state);
	const struct software_session *software = state;

	if (session->settings->start_at && !channel->processes_seen) {
		common_message_error("no process has reached %s: the trace would be empty",
				     session->settings->start_at);
		if (software->near[0])
			common_message_hint("--start-at %s", software->near);
		return COMMON_EXIT_SYSTEM;
	}
	if (!session->ended || channel->processes_seen)
		return 0;
	if (((struct software_session *)state)->changes_user) {
		common_message_error("%s is set-user-ID or set-group-ID: it ran untraced (its exit status was %d)",
				     session->settings->command[0], record_session_exit_status(session));
		common_message_hint("a copy of the file has no such privileges and can be recorded");
		return COMMON_EXIT_SYSTEM;
	}
	if (session->interrupts && WIFSIGNALED(session->wait_status)) {
		common_message_error("interrupted before %s began: there is no trace", session->settings->command[0]);
		return record_session_exit_status(session);
	}
	common_message_error("the program could not be traced (its exit status was %d)",
			     record_session_exit_status(session));
	common_message_hint("ptl-record check shows what this machine permits");
	return COMMON_EXIT_SYSTEM;
}

static void close_source(void *state)
{
	software_watch_stop(&((struct software_session *)state)->watch);
	record_values_free(((struct software_session *)state)->values);
	record_channel_close(channel_of(state));
	free(state);
}

static int take_values(void *target, const char *argument)
{
	struct value_spec spec;
	const int status = value_spec_parse(argument, &spec);

	if (status < 0)
		return status;
	value_spec_free(&spec);
	return common_string_list_add(&((struct record_settings *)target)->values, argument);
}

static const struct common_option software_options[] = {
	{"", 0, NULL, "Packets made by software (--source software)"},
	{"start-at", 0, "[FILE:]FUNCTION",
	 "native speed until a process reaches FUNCTION, of the program or library FILE; the process is recorded from "
	 "there on",
	 COMMON_STRING(struct record_settings, start_at)},
	{"stop-at", 0, "[FILE:]FUNCTION", "a recorded process that reaches FUNCTION goes on natively",
	 COMMON_STRING(struct record_settings, stop_at)},
	{"values", 0, "FUNCTION(EXPRESSION,...)",
	 "events of the values of arguments, members, globals and of $return at each call of FUNCTION, by debug "
	 "information; without brackets all arguments and the result; several times",
	 .take = take_values},
	{NULL},
};

const struct record_source software_source = {
	.name = "software",
	.summary = "Intel PT packets made by software, near native speed; any x86-64 machine",
	.options = software_options,
	.needs_no_command = true,
	.check = check,
	.describe = describe,
	.start = start,
	.verdict = verdict,
	.open = open_source,
	.drain = drain,
	.exited = exited,
	.reap = reap,
	.stop = stop,
	.finish = finish,
	.close = close_source,
};
