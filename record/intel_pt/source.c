/* SPDX-License-Identifier: BSD-2-Clause */
/* The source intel_pt: records Intel PT of a command and its descendants, of threads, or of CPUs. */
#include "record/intel_pt/source.h"

#include <cpuid.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/message.h"
#include "perf/schemas.h"
#include "record/capture/event_watch.h"
#include "record/capture/machine.h"
#include "record/intel_pt/filter.h"
#include "record/intel_pt/intel_pt_state.h"
#include "record/intel_pt/options.h"
#include "record/kernel_code/kernel_code.h"
#include "record/launch/launch.h"
#include "record/observe/observer.h"
#include "record/perf/tsc.h"
#include "record/proc/proc_files.h"

#define FIRST_NUMBER 1        /* of processes */
#define LOOK_EVERY 100000000u /* nanoseconds */
#define LOOK_FOR_THREADS_EVERY 10000000u
#define REPORT_DELAY 10000000u /* nanoseconds; all CPUs have delivered older reports */
#define ROUNDS_MAX 64          /* final drains until no data is left */

/* What to use instead of --only-between. */
#define ON_OTHER_MACHINES                                                                                              \
	"--source software with --start-at FIRST --stop-at LAST; ptl-relog --between FIRST --and LAST cuts a whole "   \
	"trace"

static int intel_pt_check(const struct record_settings *settings, char *hint, size_t hint_size)
{
	struct intel_pt_device device;
	struct intel_pt_config config;
	int status;

	hint[0] = 0;
	if (access(INTEL_PT_DEVICE "/type", F_OK) < 0) {
		snprintf(hint, hint_size, "%s",
			 settings->pt.resume_at
				 ? ON_OTHER_MACHINES
				 : "use an Intel CPU with Processor Trace, outside of a virtual machine");
		return common_fail_errno("this machine has no Intel PT, or its kernel does not show "
					 "it: " INTEL_PT_DEVICE);
	}
	status = intel_pt_device_read(INTEL_PT_DEVICE, &device);
	if (status < 0)
		return status;
	status = intel_pt_configure(&device, settings, &config);
	if (status < 0 || !settings->pt.resume_at)
		return status;
	status = intel_pt_between_check(&device, &config, &settings->pt);
	if (status < 0)
		snprintf(hint, hint_size, "%s", ON_OTHER_MACHINES);
	return status;
}

/* ---- the machine ----------------------------------------------------------------------------- */

/* Describes the current CPU, because of CPU errata. */
static void describe_processor(struct ptl_machine *machine)
{
	unsigned a, b, c, d, family, model;
	char vendor[13] = "";

	if (!__get_cpuid(0, &a, &b, &c, &d))
		return;
	memcpy(vendor, &b, 4);
	memcpy(vendor + 4, &d, 4);
	memcpy(vendor + 8, &c, 4);
	machine->vendor = strcmp(vendor, "GenuineIntel") ? PTL_VENDOR_OTHER : PTL_VENDOR_INTEL;
	if (!__get_cpuid(1, &a, &b, &c, &d))
		return;
	family = a >> 8 & 15;
	model = a >> 4 & 15;
	if (family == 6 || family == 15)
		model |= (a >> 16 & 15) << 4;
	if (family == 15)
		family += a >> 20 & 255;
	machine->family = (uint16_t)family;
	machine->model = (uint8_t)model;
	machine->stepping = a & 15;
}

static void intel_pt_describe_machine(const struct record_settings *settings, struct ptl_machine *machine)
{
	struct intel_pt_device device;
	struct intel_pt_config config;
	struct record_tsc tsc;

	/* `intel_pt_check` has tested both before. */
	if (intel_pt_device_read(INTEL_PT_DEVICE, &device) < 0 || intel_pt_configure(&device, settings, &config) < 0)
		return;
	intel_pt_describe(&device, &config, machine);
	describe_processor(machine);
	if (!record_tsc_read(&tsc)) {
		common_message_warning(
			"the kernel does not say how its clock counts the TSC: packets have no time, and "
			"those of a CPU cannot be assigned to threads");
		return;
	}
	record_machine_use_tsc(machine, &tsc);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int write_schemas(struct record_capture *capture)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < perf_schema_count; i++)
		status = record_capture_schema(capture, &perf_schemas[i]);
	return status;
}

static int add_descriptor(void *context, int fd)
{
	return record_wait_descriptor(context, fd);
}

/* Observes processes and mappings by kernel reports, or by looks at /proc. targets: NULL for a command. */
static int listen_to_kernel(struct intel_pt *pt, const struct record_sideband_targets *targets)
{
	int status = record_observer_listen(pt->observer, targets);

	if (status == 0)
		return record_observer_descriptors(pt->observer, add_descriptor, &pt->session->wait);
	if (status != PTL_SYSTEM)
		return status;
	common_message_note(
		"code that is mapped for milliseconds only may be missing: the kernel does not report it (%s)",
		ptl_error_text());
	return 0;
}

/* Adds the first target: -1 for a whole CPU, 0 without a thread. */
static int add_first(struct intel_pt *pt, pid_t target)
{
	pt->targets = malloc(sizeof(*pt->targets));
	if (!pt->targets)
		return common_fail_memory("targets", sizeof(*pt->targets));
	pt->targets[0] = target;
	pt->target_count = pt->target_capacity = 1;
	return 0;
}

static int see_process(void *context, uint32_t pid)
{
	struct intel_pt *pt = context;

	return record_observer_running(pt->observer, pid, record_now());
}

/* Reports running processes whose threads are recorded. */
static int see_processes(struct intel_pt *pt)
{
	int status = 0;

	if (pt->target_count && pt->targets[0] == -1)
		return record_proc_processes(see_process, pt);
	for (size_t i = 0; status == 0 && i < pt->target_count; i++)
		if (pt->targets[i])
			status = see_process(pt, record_proc_of_thread((uint32_t)pt->targets[i]));
	return status;
}

/* atomic, because threads of drainers.h read the member */
static void set_enabled(struct intel_pt *pt, bool enabled)
{
	__atomic_store_n(&pt->enabled, enabled, __ATOMIC_RELEASE);
}

/* Opens events of running threads. Events of a command are opened after its start. */
static int open_running(struct intel_pt *pt)
{
	int status = intel_pt_triggers_open(pt);

	if (status == 0)
		status = intel_pt_events_open(pt, false);

	if (status == 0)
		status = see_processes(pt);
	if (status == 0)
		intel_pt_events_enable(pt);
	set_enabled(pt, status == 0);
	return status;
}

/* Adds the threads of --pid and --tid to targets by name. */
static int add_listed(struct intel_pt *pt)
{
	const size_t first = pt->target_count;
	int status = intel_pt_targets_threads(pt, &pt->session->settings->pt);

	if (status == 0)
		status = record_observer_listen_to(pt->observer, pt->targets + first, pt->target_count - first);
	if (status == 0)
		status = intel_pt_triggers_add(pt, pt->targets + first, pt->target_count - first);
	if (status == 0)
		status = intel_pt_events_add(pt, first);
	return status == 0 ? see_processes(pt) : status;
}

/* Records processes by name. The rings exist before the first process is found. */
static int open_named(struct intel_pt *pt)
{
	const struct record_sideband_targets none = {.count = 0};
	int status = pt->per_thread ? 0 : add_first(pt, 0);

	if (status == 0)
		status = listen_to_kernel(pt, &none);
	if (status == 0)
		status = intel_pt_names_open(pt);
	if (status == 0)
		status = open_running(pt);
	if (status == 0)
		status = add_listed(pt);
	return status == 0 ? intel_pt_names_step(pt, record_now()) : status;
}

/* Starts reports of processes before Intel PT starts. */
static int open_targets(struct intel_pt *pt)
{
	const struct record_settings *settings = pt->session->settings;
	struct record_sideband_targets targets;
	int status = record_observer_new(&pt->session->capture, FIRST_NUMBER, &pt->observer);

	if (status < 0)
		return status;
	record_observer_take_code(pt->observer);
	if (!settings->pt.cpus && pt->session->has_command)
		return listen_to_kernel(pt, NULL);
	if (settings->pt.processes.count)
		return open_named(pt);
	status = settings->pt.cpus ? add_first(pt, -1) : intel_pt_targets_threads(pt, &settings->pt);
	targets = (struct record_sideband_targets){.threads = pt->targets, .count = pt->target_count};
	if (status == 0)
		status = listen_to_kernel(pt, &targets);
	return status == 0 ? open_running(pt) : status;
}

static int open_kernel(struct intel_pt *pt)
{
	if (pt->session->settings->pt.code == RECORD_PT_USER)
		return 0;
	return record_kernel_code_open(&pt->session->capture, "", RECORD_KERNEL_CODE, &pt->session->wait, &pt->kernel);
}

static int prepare_device(struct intel_pt *pt)
{
	const struct record_settings *settings = pt->session->settings;
	int status = intel_pt_device_read(INTEL_PT_DEVICE, &pt->device);

	if (status == 0)
		status = intel_pt_configure(&pt->device, settings, &pt->config);
	if (status == 0)
		status = intel_pt_filter_make(&pt->device, &settings->pt, &pt->filter);
	if (status == 0 && pt->filter)
		status = record_capture_pt_filters(&pt->session->capture, pt->filter);
	if (status == 0)
		status = intel_pt_triggers_find(pt);
	if (status == 0)
		status = intel_pt_between_find(pt);
	if (status == 0)
		status = intel_pt_rate_open(pt);
	if (status == 0)
		status = intel_pt_targets_cpus(pt, &settings->pt);
	if (status == 0)
		status = write_schemas(&pt->session->capture);
	if (status == 0)
		status = open_kernel(pt);
	return status == 0 ? open_targets(pt) : status;
}

static void intel_pt_close(void *state)
{
	struct intel_pt *pt = state;

	intel_pt_events_close(pt);
	intel_pt_names_close(pt->names);
	intel_pt_triggers_close(pt->triggers);
	intel_pt_between_close(pt->between);
	free(pt->rate);
	record_event_watch_free(pt->session->capture.watch);
	pt->session->capture.watch = NULL;
	record_observer_free(pt->observer);
	record_kernel_code_close(pt->kernel);
	free(pt->cpus);
	free(pt->targets);
	common_id_set_free(&pt->pids);
	free(pt->filter);
	free(pt);
	record_clock_use_monotonic();
}

static int intel_pt_open(struct record_session *session, void **state)
{
	struct intel_pt *pt = calloc(1, sizeof(*pt));
	int status;

	if (!pt)
		return common_fail_memory("Intel PT", sizeof(*pt));
	pt->session = session;
	pt->snapshot = session->settings->pt.snapshot;
	pt->per_thread = session->settings->pt.per_thread;
	status = prepare_device(pt);
	if (status < 0) {
		intel_pt_close(pt);
		return status;
	}
	session->observer = pt->observer;
	*state = pt;
	return 0;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Opens the events while the child waits. The events start at the child's execve. */
static int attach_process(void *context, pid_t pid)
{
	struct intel_pt *pt = context;
	int status;

	/* Everything on some CPUs is recorded already. */
	if (pt->count)
		return 0;
	status = add_first(pt, pid);
	if (status == 0)
		status = common_id_set_add(&pt->pids, (uint32_t)pid);
	if (status == 0 && pt->session->settings->pt.max_cpus)
		status = intel_pt_targets_bind(pt, pid);
	if (status == 0)
		status = intel_pt_triggers_open(pt);
	if (status == 0)
		status = intel_pt_events_open(pt, true);
	set_enabled(pt, status == 0);
	return status;
}

static int intel_pt_start(void *state, struct record_session *session, const struct record_command *command,
			  const struct rlimit *files)
{
	struct intel_pt *pt = state;
	const struct record_launch launch = {
		.path = command->path,
		.argv = command->argv,
		.envp = environ,
		.files = files,
		.attach = attach_process,
		.context = pt,
	};
	const uint64_t time = record_now();
	int status = record_launch(&launch, &session->pid);

	return status < 0 ? status : record_observer_command(pt->observer, (uint32_t)session->pid, time, command);
}

/* ---- while it runs --------------------------------------------------------------------------- */

static int lose_beginning(struct intel_pt *pt, pid_t thread)
{
	const struct ptl_loss loss = {
		.kind = PTL_LOSS_BYTES,
		.stream = PTL_NO_ID,
		.pid = record_proc_of_thread((uint32_t)thread),
		.tid = (uint32_t)thread,
		.count = 1,
		.first_time = record_now(),
		.last_time = record_now(),
		.cause = "the thread ran before it had a buffer of its own (--per-thread)",
	};

	return record_capture_loss(&pt->session->capture, &loss);
}

/* Finds threads by a look at /proc: a new thread does not inherit an event of --per-thread. */
static int look_for_threads(struct intel_pt *pt, uint64_t now)
{
	int status = pt->names ? 0 : intel_pt_events_drop_ended(pt);
	size_t first = pt->target_count;

	if (status == 0)
		status = intel_pt_targets_look(pt);
	if (status == 0 && pt->target_count > first && pt->enabled)
		status = intel_pt_events_add(pt, first);
	for (size_t i = first; status == 0 && i < pt->target_count; i++)
		status = lose_beginning(pt, pt->targets[i]);
	pt->looked_for_threads = now;
	return status;
}

static int intel_pt_drain_all(void *state, uint64_t now, bool *work)
{
	struct intel_pt *pt = state;
	int status = record_observer_step(pt->observer, now);

	if (status == 0 && pt->kernel)
		status = record_kernel_code_step(pt->kernel, now - RECORD_SIDEBAND_DELAY);
	for (size_t i = 0; status == 0 && i < pt->count; i++)
		status = intel_pt_drain(pt, pt->buffers[i], work);
	if (status == 0 && pt->names)
		status = intel_pt_names_step(pt, now);
	if (status == 0)
		status = intel_pt_triggers_step(pt);
	if (status == 0)
		status = intel_pt_between_step(pt, now - REPORT_DELAY);
	if (status == 0)
		status = intel_pt_rate_step(pt, now);
	if (status == 0 && pt->per_thread && now - pt->looked_for_threads >= LOOK_FOR_THREADS_EVERY)
		status = look_for_threads(pt, now);
	/* All threads to record have ended. */
	if (!pt->session->has_command && !pt->names && now - pt->looked >= LOOK_EVERY) {
		pt->looked = now;
		pt->session->leave |= !intel_pt_targets_live(pt);
	}
	return status;
}

static uint64_t intel_pt_next_due(void *state, uint64_t now)
{
	const struct intel_pt *pt = state;
	uint64_t first = record_observer_due(pt->observer);

	if (intel_pt_rate_due(pt, now) < first)
		first = intel_pt_rate_due(pt, now);
	if (pt->names && intel_pt_names_due(pt->names) < first)
		first = intel_pt_names_due(pt->names);
	if (pt->kernel && record_kernel_code_due(pt->kernel) < first)
		first = record_kernel_code_due(pt->kernel);
	if (pt->per_thread && pt->looked_for_threads + LOOK_FOR_THREADS_EVERY < first)
		first = pt->looked_for_threads + LOOK_FOR_THREADS_EVERY;
	return first;
}

static int exited(void *state, uint32_t pid, uint32_t wait_status)
{
	struct intel_pt *pt = state;
	int status = record_observer_exited(pt->observer, pid, wait_status, record_now());

	if (status == 0 && pt->snapshot && WIFSIGNALED((int)wait_status))
		status = intel_pt_snapshot(pt, "a process died of a signal");
	return status;
}

static int snapshot(void *state)
{
	struct intel_pt *pt = state;

	return pt->snapshot ? intel_pt_snapshot(pt, "asked for") : 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void intel_pt_stop(void *state)
{
	struct intel_pt *pt = state;

	set_enabled(pt, false);
	for (size_t i = 0; i < pt->count; i++) {
		pthread_mutex_lock(&pt->buffers[i]->lock);
		intel_pt_buffer_control(pt->buffers[i], PERF_EVENT_IOC_DISABLE);
		pthread_mutex_unlock(&pt->buffers[i]->lock);
	}
}

static int drain_rest(struct intel_pt *pt)
{
	bool work = true;
	int status = 0;

	for (unsigned i = 0; status == 0 && work && i < ROUNDS_MAX; i++) {
		work = false;
		pt->finishing = i > 0;
		for (size_t j = 0; status == 0 && j < pt->count; j++)
			status = intel_pt_drain(pt, pt->buffers[j], &work);
	}
	return status;
}

static int intel_pt_finish(void *state, bool alone)
{
	struct intel_pt *pt = state;
	int status;

	(void)alone;
	intel_pt_stop(pt);
	status = intel_pt_triggers_step(pt);
	if (status == 0)
		status = drain_rest(pt);
	if (status == 0 && pt->snapshot && !intel_pt_triggers_done(pt))
		status = intel_pt_snapshot(pt, "the end");
	if (status == 0)
		status = intel_pt_triggers_finish(pt);
	if (status == 0)
		status = intel_pt_between_finish(pt);
	if (status == 0)
		status = intel_pt_rate_finish(pt, record_now());
	for (size_t i = 0; status == 0 && i < pt->count; i++)
		status = intel_pt_buffer_finish(pt->buffers[i]);
	if (status == 0 && pt->kernel)
		status = record_kernel_code_step(pt->kernel, UINT64_MAX);
	if (status == 0)
		status = record_observer_finish(pt->observer, record_now());
	if (status == 0 && pt->between && !intel_pt_between_resumed(pt))
		common_message_warning("--only-between: no thread came to %s, so the CPU has made no packets",
				       pt->session->settings->pt.resume_at);
	else if (status == 0 && !pt->session->capture.pt_bytes)
		common_message_warning("the CPU has made no packets: nothing of what was to be recorded ran");
	return status;
}

const struct record_source record_intel_pt_source = {
	.name = "intel_pt",
	.summary = "Intel Processor Trace of the CPU",
	.options = intel_pt_options,
	.needs_no_command = true,
	.native = true,
	.observes = true,
	.check = intel_pt_check,
	.describe = intel_pt_describe_machine,
	.start = intel_pt_start,
	.open = intel_pt_open,
	.drain = intel_pt_drain_all,
	.exited = exited,
	.due = intel_pt_next_due,
	.snapshot = snapshot,
	.stop = intel_pt_stop,
	.finish = intel_pt_finish,
	.close = intel_pt_close,
};
