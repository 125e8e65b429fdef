/* SPDX-License-Identifier: BSD-2-Clause */
/* Recording with the software source: QEMU and its plugin. */
#include "record/qemu/session.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/program/message.h"
#include "record/capture/machine.h"
#include "record/qemu/launch.h"
#include "record/qemu/source.h"
#include "record/qemu/tools.h"
#include "record/session/session.h"

#define MILLISECOND 1000000ull
#define SLEEP_BUSY 4
/* How long threads may take to notice that tracing has ended. */
#define STOP_TIME (500 * MILLISECOND)
#define MESSAGE_RING (128u << 10)
#define TRUTH_RING (4u << 20)
#define VIRTUAL_START 1 /* nanoseconds; 0 would mean unknown */

struct qemu_session {
	struct record_qemu qemu;
	struct record_qemu_tools tools;
};

static struct record_qemu *qemu_of(void *state)
{
	return &((struct qemu_session *)state)->qemu;
}

/* ---- before the start ------------------------------------------------------------------------ */

static void describe(const struct record_settings *settings, struct ptl_machine *machine)
{
	snprintf(machine->source, sizeof(machine->source), "qemu");
	machine->software = true;
	if (settings->clock == PTL_CLOCK_VIRTUAL)
		machine->start_time = VIRTUAL_START;
	/* A tick of the TSC is a nanosecond of the trace's clock. */
	machine->tsc_multiplier = 1;
	machine->tsc_frequency = QEMU_TSC_HZ;
	machine->mtc_frequency = QEMU_MTC_SHIFT_DEFAULT;
	machine->ctc_numerator = QEMU_CPUID_15_EBX;
	machine->ctc_denominator = QEMU_CPUID_15_EAX;
	machine->nominal_ratio = QEMU_NOMINAL_RATIO;
}

static void configure(const struct record_settings *settings, const struct record_qemu_tools *tools,
		      struct qemu_channel_config *config)
{
	*config = (struct qemu_channel_config){
		.slot_count = settings->threads_max,
		.timing = settings->timing,
		.clock = settings->clock,
		.return_compression = settings->return_compression,
		.truth = settings->truth != NULL,
		.mtc_shift = QEMU_MTC_SHIFT_DEFAULT,
		.cpu_count = settings->per_cpu,
		.psb_period = settings->psb_period,
		.pt_ring_size = settings->ring_size,
		.message_ring_size = MESSAGE_RING,
		.truth_ring_size = settings->truth ? TRUTH_RING : 0,
		.virtual_start = VIRTUAL_START,
	};
	snprintf(config->plugin_path, sizeof(config->plugin_path), "%s", tools->plugin);
	snprintf(config->qemu_path, sizeof(config->qemu_path), "%s", tools->qemu);
}

static int check(const struct record_settings *settings, char *hint, size_t hint_size)
{
	struct record_qemu_tools tools;

	return record_qemu_tools_find(settings->qemu, &tools, hint, hint_size);
}

/* Rings of the plugins, and ends of processes. */
static int wait_for(struct record_wait *wait, const struct record_qemu *qemu)
{
	struct qemu_channel_header *header = qemu->channel.header;
	const struct record_doorbell doorbell = {&header->doorbell, &header->recorder_waiting};

	record_wait_doorbell(wait, &doorbell);
	return record_wait_descriptor(wait, qemu->epoll);
}

static int open_source(struct record_session *session, void **state)
{
	struct qemu_session *made = calloc(1, sizeof(*made));
	struct qemu_channel_config config;
	char hint[512];
	int status;

	if (!made)
		return common_fail_memory("software source", sizeof(*made));
	status = record_qemu_tools_find(session->settings->qemu, &made->tools, hint, sizeof(hint));
	if (status == 0) {
		configure(session->settings, &made->tools, &config);
		status = record_qemu_open(&made->qemu, &session->capture, &config);
	}
	if (status == 0) {
		status = wait_for(&session->wait, &made->qemu);
		if (status < 0)
			record_qemu_close(&made->qemu);
	}
	if (status < 0)
		free(made);
	else
		*state = made;
	return status;
}

static int start(void *state, struct record_session *session, const struct record_command *command,
		 const struct rlimit *files)
{
	return record_qemu_launch(command, &qemu_of(state)->channel, files, &session->pid);
}

/* ---- while it runs --------------------------------------------------------------------------- */

static int drain(void *state, uint64_t now, bool *work)
{
	(void)now;
	return record_qemu_drain(qemu_of(state), work);
}

static int reap(void *state)
{
	return record_qemu_reap(qemu_of(state));
}

static int exited(void *state, uint32_t pid, uint32_t wait_status)
{
	return record_capture_exit_status(qemu_of(state)->capture, pid, wait_status);
}

static void stop(void *state)
{
	qemu_channel_stop(&qemu_of(state)->channel);
}

/* ---- the end --------------------------------------------------------------------------------- */

/*
 * Threads end their streams themselves when they notice; those that sleep in the kernel have
 * nothing to add.
 */
static int wait_for_threads(struct record_qemu *qemu)
{
	const uint64_t start = record_now();
	bool work = true;
	int status = 0;

	while (status == 0 && (work || (record_qemu_has_live_slots(qemu) && record_now() - start < STOP_TIME))) {
		const uint32_t seen = __atomic_load_n(&qemu->channel.header->doorbell, __ATOMIC_SEQ_CST);

		work = false;
		status = record_qemu_drain(qemu, &work);
		if (!work)
			qemu_channel_wait(&qemu->channel, seen, SLEEP_BUSY);
	}
	return status;
}

static int finish(void *state, bool alone)
{
	struct record_qemu *qemu = qemu_of(state);
	int status;

	if (alone) {
		status = record_qemu_reap_all(qemu);
	} else {
		status = wait_for_threads(qemu);
		if (status == 0)
			status = record_qemu_reap(qemu);
		if (status == 0)
			status = record_qemu_order_deliver(&qemu->order, record_now(), true);
	}
	if (status == 0)
		status = record_qemu_cpus_finish(&qemu->cpus);
	return status == 0 ? record_qemu_count_losses(qemu) : status;
}

/* QEMU ended without a word of the plugin: it has said why, on the command's stderr. */
static int verdict(void *state, const struct record_session *session)
{
	const struct record_qemu *qemu = qemu_of(state);
	const char *path = qemu->channel.config.qemu_path;
	char version[128];

	if (!session->ended || qemu->processes_seen)
		return 0;
	record_qemu_version(path, version, sizeof(version));
	common_message_error("%s did not start the program (its exit status was %d)", path,
			     record_session_exit_status(session));
	common_message_hint("this plugin is for the plugin interface of QEMU 7.2 (Debian 12's "
			    "qemu-user); this is: %s",
			    version[0] ? version : "a program that does not tell its version");
	return COMMON_EXIT_SYSTEM;
}

static const char *likely_cause(int signal)
{
	if (signal != SIGILL)
		return NULL;
	return "QEMU 7.2 executes no AVX-512, AMX, SHA or GFNI instructions: build the program without "
	       "-march=native, or run it natively with --source none";
}

static void close_source(void *state)
{
	record_qemu_close(qemu_of(state));
	free(state);
}

const struct record_source record_qemu_source = {
	.name = "qemu",
	.summary = "Intel PT packets made by software, in QEMU user mode; any x86-64 machine",
	.check = check,
	.describe = describe,
	.start = start,
	.verdict = verdict,
	.likely_cause = likely_cause,
	.open = open_source,
	.drain = drain,
	.exited = exited,
	.reap = reap,
	.stop = stop,
	.finish = finish,
	.close = close_source,
};
