/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens perf events. Each CPU has one pair of rings, whatever is recorded there: the first event of Intel PT is mapped, and
 * all others write into its rings. Beside each stands an event that only reports context switches, which goes on while
 * Intel PT is stopped.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/error.h"
#include "common/message.h"
#include "common/vector.h"
#include "record/intel_pt/intel_pt_state.h"
#include "record/session/progress.h"

#define SAMPLE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)
#define AUX_DEFAULT ((size_t)4 << 20)
#define AUX_LEAST ((size_t)128 << 10)
#define WATERMARK_SHARE 4 /* the kernel wakes when this part of a ring is full */

/* ---- attributes ------------------------------------------------------------------------------ */

static struct perf_event_attr common_attr(const struct intel_pt *pt, bool on_exec)
{
	const enum record_pt_code code = pt->session->settings->pt.code;

	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.sample_type = SAMPLE_TYPE,
		.sample_id_all = 1,
		.disabled = 1,
		/* What a thread starts is recorded, too; a CPU's event has no thread. */
		.inherit = pt->targets[0] != -1,
		.enable_on_exec = on_exec,
		.exclude_user = code == RECORD_PT_KERNEL,
		.exclude_kernel = code == RECORD_PT_USER,
		.exclude_hv = 1,
		.watermark = 1,
		.wakeup_watermark = (uint32_t)(pt->data_size / WATERMARK_SHARE),
	};
}

static struct perf_event_attr pt_attr(const struct intel_pt *pt, bool on_exec)
{
	struct perf_event_attr attr = common_attr(pt, on_exec);

	attr.type = pt->device.type;
	attr.config = pt->config.word;
	attr.sample_period = 1;
	attr.aux_watermark = pt->snapshot ? 0 : (uint32_t)(pt->aux_size / WATERMARK_SHARE);
	return attr;
}

static struct perf_event_attr sideband_attr(const struct intel_pt *pt, bool on_exec)
{
	struct perf_event_attr attr = common_attr(pt, on_exec);
	const bool kernel = pt->session->settings->pt.code != RECORD_PT_USER;

	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.context_switch = 1;
	attr.exclude_user = 0;
	attr.exclude_kernel = !kernel;
	/* What changes the kernel's code. */
	attr.ksymbol = attr.bpf_event = attr.text_poke = kernel;
	return attr;
}

static int open_event(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* ---- why not --------------------------------------------------------------------------------- */

static const struct {
	int error;
	const char *cause;
} causes[] = {
	{EACCES, "the kernel does not permit it: ptl-record check says what does"},
	{EPERM, "the kernel does not permit it: ptl-record check says what does"},
	{EBUSY, "somebody else records Intel PT: another perf, a debugger, or a hypervisor"},
	{EINVAL, "the kernel refuses the settings"},
	{EOPNOTSUPP, "the kernel cannot do it"},
	{ENOSPC, "too many events"},
	{EMFILE, "too many open files: ulimit -n"},
	{ESRCH, "the thread has ended"},
	{ENODEV, "the CPU is switched off"},
};

static int explain(const char *what, pid_t pid, uint32_t cpu)
{
	const int error = errno;
	int status = common_fail_errno("perf_event_open");
	char where[64];

	for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		if (causes[i].error == error)
			status = common_fail_in(PTL_SYSTEM, "%s", causes[i].cause);
	if (pid == -1)
		snprintf(where, sizeof(where), "CPU %u", cpu);
	else
		snprintf(where, sizeof(where), "CPU %u, thread %d", cpu, pid);
	return common_fail_in(status, "%s, %s", what, where);
}

/* ---- rings ----------------------------------------------------------------------------------- */

/* Memory that users may lock is limited: what that is, and what to do. */
static int explain_memory(const struct intel_pt *pt, size_t aux_size)
{
	const int error = errno;
	char data[RECORD_SIZE_TEXT], aux[RECORD_SIZE_TEXT];

	if (error != EPERM && error != ENOMEM)
		return PTL_SYSTEM;
	common_message_hint(
		"%zu CPUs with %s for records and %s for packets each are more than may be locked "
		"(perf_event_mlock_kb for each CPU, and ulimit -l): --buffer and --aux-buffer make them smaller, "
		"sudo sysctl kernel.perf_event_mlock_kb=8192 permits more",
		pt->cpu_count, record_size_text(pt->data_size, data), record_size_text(aux_size, aux));
	return PTL_SYSTEM;
}

/* A target has ended; so much memory is not permitted, but less may be. */
enum { GONE = 1, MEMORY };

static int map_ring(struct intel_pt *pt, struct intel_pt_buffer *buffer)
{
	const bool asked = pt->session->settings->pt.aux_size != 0;
	int status = intel_pt_ring_map(&buffer->ring, buffer->fds[0], pt->data_size, pt->aux_size, pt->snapshot);

	if (status != PTL_SYSTEM)
		return status;
	if (!asked && (errno == EPERM || errno == ENOMEM) && pt->aux_size > AUX_LEAST)
		return MEMORY;
	return explain_memory(pt, pt->aux_size);
}

/* ---- one buffer ------------------------------------------------------------------------------ */

/* Older kernels do not know all records: those of the kernel's own code are left out then. */
static int open_sideband(const struct intel_pt *pt, pid_t pid, uint32_t cpu, bool on_exec)
{
	struct perf_event_attr attr = sideband_attr(pt, on_exec);
	int fd = open_event(&attr, pid, (int)cpu);

	if (fd < 0 && errno == EINVAL && (attr.ksymbol || attr.text_poke)) {
		attr.ksymbol = attr.bpf_event = attr.text_poke = 0;
		fd = open_event(&attr, pid, (int)cpu);
	}
	return fd;
}

/* The pair of events of one target. GONE: it has ended; MEMORY. */
static int open_target(struct intel_pt *pt, struct intel_pt_buffer *buffer, pid_t pid, bool on_exec)
{
	const struct perf_event_attr attr = pt_attr(pt, on_exec);
	const int fd = open_event(&attr, pid, (int)buffer->cpu);
	int sideband, status = 0;

	if (fd < 0)
		return errno == ESRCH ? GONE : explain("Intel PT", pid, buffer->cpu);
	if (pt->filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, pt->filter) < 0)
		status = common_fail_errno("the kernel refuses the address filters \"%s\"", pt->filter);
	sideband = status == 0 ? open_sideband(pt, pid, buffer->cpu, on_exec) : -1;
	if (status == 0 && sideband < 0)
		status = errno == ESRCH ? GONE : explain("context switches", pid, buffer->cpu);
	if (status != 0) {
		close(fd);
		return status;
	}
	buffer->fds[buffer->count] = fd;
	buffer->sideband[buffer->count++] = sideband;
	if (buffer->count == 1)
		status = map_ring(pt, buffer);
	else if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, buffer->fds[0]) < 0)
		status = common_fail_errno("packets of several threads in one buffer");
	if (status == 0 && ioctl(sideband, PERF_EVENT_IOC_SET_OUTPUT, buffer->fds[0]) < 0)
		status = common_fail_errno("context switches in the buffer of CPU %u", buffer->cpu);
	return status;
}

static int open_stream(struct intel_pt *pt, struct intel_pt_buffer *buffer)
{
	struct record_capture *capture = &pt->session->capture;
	int status = intel_pt_stream_open(&buffer->stream, capture, buffer->cpu, PTL_NO_ID, PTL_NO_ID);

	if (status == 0)
		status = record_capture_event_stream(capture, &buffer->events);
	/* The epoll keeps what it watches from being closed before it. */
	return status < 0 ? status : record_wait_descriptor(&pt->session->wait, buffer->fds[0]);
}

/* GONE: there is nothing to record on this CPU; MEMORY. */
static int open_buffer(struct intel_pt *pt, struct intel_pt_buffer *buffer, uint32_t cpu, bool on_exec)
{
	int status = 0;

	buffer->cpu = cpu;
	buffer->fds = calloc(pt->target_count, sizeof(*buffer->fds));
	buffer->sideband = calloc(pt->target_count, sizeof(*buffer->sideband));
	if (!buffer->fds || !buffer->sideband)
		return common_fail_memory("events", pt->target_count * sizeof(*buffer->fds));
	for (size_t i = 0; status >= 0 && status != MEMORY && i < pt->target_count; i++)
		status = open_target(pt, buffer, pt->targets[i], on_exec);
	if (status < 0 || status == MEMORY)
		return status;
	return buffer->count ? 0 : GONE;
}

static void close_buffer(struct intel_pt_buffer *buffer)
{
	intel_pt_ring_unmap(&buffer->ring);
	for (size_t i = buffer->count; i-- > 0;) {
		close(buffer->sideband[i]);
		close(buffer->fds[i]);
	}
	free(buffer->fds);
	free(buffer->sideband);
	free(buffer->before);
	*buffer = (struct intel_pt_buffer){.cpu = PTL_NO_CPU};
}

void intel_pt_buffer_control(const struct intel_pt_buffer *buffer, unsigned long request)
{
	/* A thread that has ended has nothing to be stopped or started. */
	for (size_t i = 0; i < buffer->count; i++)
		(void)ioctl(buffer->fds[i], request, 0);
}

/* ---- all ------------------------------------------------------------------------------------- */

static size_t aux_size_of(const struct record_settings *settings)
{
	return settings->pt.aux_size ? (size_t)settings->pt.aux_size : AUX_DEFAULT;
}

static int open_buffers(struct intel_pt *pt, bool on_exec)
{
	int status = 0;

	pt->buffers = calloc(pt->cpu_count, sizeof(*pt->buffers));
	if (!pt->buffers)
		return common_fail_memory("buffers", pt->cpu_count * sizeof(*pt->buffers));
	for (size_t i = 0; status == 0 && i < pt->cpu_count; i++) {
		struct intel_pt_buffer *buffer = &pt->buffers[pt->count];

		status = open_buffer(pt, buffer, pt->cpus[i], on_exec);
		pt->count += status == 0;
		if (status != 0)
			close_buffer(buffer);
		if (status == GONE)
			status = 0;
	}
	return status;
}

int intel_pt_events_open(struct intel_pt *pt, bool on_exec)
{
	const struct record_settings *settings = pt->session->settings;
	int status;

	pt->data_size = (size_t)settings->ring_size;
	pt->aux_size = aux_size_of(settings);
	/* Unless a size was asked for, what is permitted is enough; but it has to do for all CPUs. */
	while ((status = open_buffers(pt, on_exec)) == MEMORY) {
		intel_pt_events_close(pt);
		pt->aux_size /= 2;
	}
	if (status == 0 && !pt->count)
		status = common_fail(PTL_SYSTEM, "the threads to be recorded have ended");
	for (size_t i = 0; status == 0 && i < pt->count; i++)
		status = open_stream(pt, &pt->buffers[i]);
	return status;
}

void intel_pt_events_close(struct intel_pt *pt)
{
	for (size_t i = 0; i < pt->count; i++)
		close_buffer(&pt->buffers[i]);
	free(pt->buffers);
	pt->buffers = NULL;
	pt->count = 0;
}
