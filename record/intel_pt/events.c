/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens perf events. Each CPU, or with --per-thread each thread, has one pair of rings: the first Intel PT event is
 * mapped, and all other events write into its rings. Beside each Intel PT event, an event for context switches goes on
 * while Intel PT is stopped.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/vector.h"
#include "record/intel_pt/intel_pt_state.h"
#include "record/perf/event.h"
#include "record/proc/proc_files.h"
#include "record/session/progress.h"

#define AUX_DEFAULT ((size_t)4 << 20)
#define AUX_LEAST ((size_t)128 << 10)
#define BUFFERS_PER_THREAD 8
/* bytes per buffer, up to 1 / QUEUE_SHARE of the machine's memory in total */
#define QUEUE_DEFAULT ((uint64_t)64 << 20)
#define QUEUE_SHARE 8

/* ---- error messages -------------------------------------------------------------------------- */

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
	else if (cpu == PTL_NO_CPU)
		snprintf(where, sizeof(where), "thread %d", pid);
	else
		snprintf(where, sizeof(where), "CPU %u, thread %d", cpu, pid);
	return common_fail_in(status, "%s, %s", what, where);
}

/* ---- rings ----------------------------------------------------------------------------------- */

/* Explains the limit of locked memory, with advice. */
static int explain_memory(const struct intel_pt *pt, size_t aux_size)
{
	const int error = errno;
	char data[RECORD_SIZE_TEXT], aux[RECORD_SIZE_TEXT];

	if (error != EPERM && error != ENOMEM)
		return PTL_SYSTEM;
	common_message_hint(
		"%zu %s with %s for records and %s for packets each are more than may be locked "
		"(perf_event_mlock_kb for each CPU, and ulimit -l): --buffer and --aux-buffer make them smaller, "
		"sudo sysctl kernel.perf_event_mlock_kb=8192 permits more",
		pt->per_thread ? pt->target_count : pt->cpu_count, pt->per_thread ? "threads" : "CPUs",
		record_size_text(pt->data_size, data), record_size_text(aux_size, aux));
	return PTL_SYSTEM;
}

/* GONE: the target has ended. MEMORY: the kernel refuses the size, but may permit a smaller size. */
enum { GONE = 1, MEMORY };

static int map_ring(struct intel_pt *pt, struct intel_pt_buffer *buffer, int fd)
{
	const bool size_given = pt->session->settings->pt.aux_size != 0;
	int status = intel_pt_ring_map(&buffer->ring, fd, pt->data_size, pt->aux_size, pt->snapshot);

	if (status != PTL_SYSTEM)
		return status;
	if (!size_given && (errno == EPERM || errno == ENOMEM) && pt->aux_size > AUX_LEAST)
		return MEMORY;
	return explain_memory(pt, pt->aux_size);
}

/* ---- one buffer ------------------------------------------------------------------------------ */

/* Opens the event for context switches. Falls back to context switches alone on kernels that lack newer records. */
static int open_sideband(const struct intel_pt *pt, pid_t pid, uint32_t cpu, bool on_exec)
{
	struct perf_event_attr attr = intel_pt_events_sideband_attr(pt, on_exec);
	int fd = record_perf_event_open(&attr, pid, (int)cpu);

	if (fd < 0 && errno == EINVAL) {
		attr.namespaces = attr.cgroup = 0;
		attr.ksymbol = attr.bpf_event = attr.text_poke = 0;
		fd = record_perf_event_open(&attr, pid, (int)cpu);
	}
	return fd;
}

static void close_event(const struct intel_pt_event *event)
{
	for (unsigned i = 0; i < INTEL_PT_ACTIONS; i++)
		if (event->actions[i] >= 0)
			close(event->actions[i]);
	if (event->sideband >= 0)
		close(event->sideband);
	if (event->fd >= 0)
		close(event->fd);
}

/* Closes the descriptors of an event outside of the buffer. Returns the status. */
static int give_up(const struct intel_pt_event *event, int status)
{
	close_event(event);
	return status;
}

/* Maps the rings of the buffer's first event, or redirects a further event into the rings. */
static int join_ring(struct intel_pt *pt, struct intel_pt_buffer *buffer, const struct intel_pt_event *event)
{
	int status = 0;

	if (!buffer->ring.data.page)
		status = map_ring(pt, buffer, event->fd);
	else if (ioctl(event->fd, PERF_EVENT_IOC_SET_OUTPUT, buffer->list[0].fd) < 0)
		status = common_fail_errno("packets of several threads in one buffer");
	if (status == 0 &&
	    ioctl(event->sideband, PERF_EVENT_IOC_SET_OUTPUT, buffer->count ? buffer->list[0].fd : event->fd) < 0)
		status = common_fail_errno("context switches in the same buffer");
	for (unsigned i = 0; status == 0 && i < INTEL_PT_ACTIONS; i++)
		if (event->actions[i] >= 0 && ioctl(event->actions[i], PERF_EVENT_IOC_SET_OUTPUT,
						    buffer->count ? buffer->list[0].fd : event->fd) < 0)
			status = common_fail_errno("events of --only-between in the same buffer");
	return status;
}

static int add_event(struct intel_pt *pt, struct intel_pt_buffer *buffer, const struct intel_pt_event *event)
{
	int status = COMMON_VECTOR_RESERVE(buffer->list, buffer->capacity, buffer->count + 1, "events");

	if (status == 0)
		status = join_ring(pt, buffer, event);
	if (status == 0)
		buffer->list[buffer->count++] = *event;
	return status;
}

/* Opens the pair of events of one target. Returns GONE or MEMORY, or fails. */
static int open_target(struct intel_pt *pt, struct intel_pt_buffer *buffer, pid_t pid, bool on_exec)
{
	struct perf_event_attr attr = intel_pt_events_pt_attr(pt, on_exec);
	struct intel_pt_event event = {.thread = pid, .sideband = -1, .actions = {-1, -1}};
	int status;

	event.fd = record_perf_event_open(&attr, pid, (int)buffer->cpu);
	if (event.fd < 0)
		return errno == ESRCH ? GONE : explain("Intel PT", pid, buffer->cpu);
	if (pt->filter && ioctl(event.fd, PERF_EVENT_IOC_SET_FILTER, pt->filter) < 0)
		return give_up(&event, common_fail_errno("the kernel refuses the address filters \"%s\"", pt->filter));
	event.sideband = open_sideband(pt, pid, buffer->cpu, on_exec);
	if (event.sideband < 0)
		return give_up(&event, errno == ESRCH ? GONE : explain("context switches", pid, buffer->cpu));
	if (intel_pt_between_open(pt, &event, buffer->cpu) < 0)
		return give_up(&event, errno == ESRCH ? GONE : explain("--only-between", pid, buffer->cpu));
	pthread_mutex_lock(&buffer->lock);
	status = add_event(pt, buffer, &event);
	pthread_mutex_unlock(&buffer->lock);
	return status == 0 ? 0 : give_up(&event, status);
}

static int open_stream(struct intel_pt *pt, struct intel_pt_buffer *buffer)
{
	struct record_capture *capture = &pt->session->capture;
	uint32_t pid = PTL_NO_ID, tid = PTL_NO_ID;
	int status;

	if (buffer->cpu == PTL_NO_CPU) {
		tid = (uint32_t)buffer->list[0].thread;
		pid = record_proc_of_thread((uint32_t)buffer->list[0].thread);
	}
	status = intel_pt_stream_open(&buffer->stream, capture, buffer->cpu, pid, tid);
	if (status == 0)
		status = record_capture_event_stream(capture, &buffer->events);
	buffer->opened = status == 0;
	if (status < 0)
		return status;
	/*
	 * A single epoll instance watches the descriptor: the kernel forgets a wake-up after telling the first
	 * instance.
	 */
	return pt->drainers ? intel_pt_drainers_add(pt->drainers, buffer, buffer->list[0].fd)
			    : record_wait_descriptor(&pt->session->wait, buffer->list[0].fd);
}

static uint64_t lost_by(const struct intel_pt_event *event)
{
	uint64_t lost = record_perf_event_lost(event->fd) + record_perf_event_lost(event->sideband);

	for (unsigned i = 0; i < INTEL_PT_ACTIONS; i++)
		if (event->actions[i] >= 0)
			lost += record_perf_event_lost(event->actions[i]);
	return lost;
}

int intel_pt_buffer_finish(struct intel_pt_buffer *buffer)
{
	uint64_t open = 0;
	int status;

	for (size_t i = 0; i < buffer->count; i++)
		open += lost_by(&buffer->list[i]);
	status = intel_pt_records_lost(buffer, open);
	return status < 0 ? status : intel_pt_stream_finish(&buffer->stream);
}

static void close_buffer(const struct intel_pt *pt, struct intel_pt_buffer *buffer)
{
	if (pt->drainers && buffer->opened)
		intel_pt_drainers_remove(pt->drainers, buffer, buffer->list[0].fd);
	intel_pt_ring_unmap(&buffer->ring);
	for (size_t i = buffer->count; i-- > 0;)
		close_event(&buffer->list[i]);
	free(buffer->list);
	free(buffer->before);
	pthread_mutex_destroy(&buffer->lock);
	free(buffer);
}

static struct intel_pt_buffer *find_buffer(const struct intel_pt *pt, uint32_t cpu)
{
	for (size_t i = 0; cpu != PTL_NO_CPU && i < pt->count; i++)
		if (pt->buffers[i]->cpu == cpu)
			return pt->buffers[i];
	return NULL;
}

static struct intel_pt_buffer *new_buffer(struct intel_pt *pt, uint32_t cpu)
{
	struct intel_pt_buffer *buffer;

	if (COMMON_VECTOR_RESERVE(pt->buffers, pt->capacity, pt->count + 1, "buffers"))
		return NULL;
	buffer = calloc(1, sizeof(*buffer));
	if (!buffer) {
		common_fail_memory("a buffer", sizeof(*buffer));
		return NULL;
	}
	pthread_mutex_init(&buffer->lock, NULL);
	buffer->cpu = cpu;
	buffer->depth = pt->session->settings->pt.depth;
	return buffer;
}

/* Opens the events of targets [first, end) on a CPU, or of a thread on any CPU. Returns MEMORY, or fails. */
static int open_buffer(struct intel_pt *pt, uint32_t cpu, size_t first, size_t end, bool on_exec)
{
	struct intel_pt_buffer *found = find_buffer(pt, cpu), *buffer = found ? found : new_buffer(pt, cpu);
	int status = buffer ? 0 : PTL_NO_MEMORY;

	for (size_t i = first; status == 0 && i < end; i++) {
		status = open_target(pt, buffer, pt->targets[i], on_exec);
		if (status == GONE)
			status = 0;
	}
	if (buffer && !found && (status != 0 || !buffer->count))
		close_buffer(pt, buffer);
	else if (buffer && !found)
		pt->buffers[pt->count++] = buffer;
	return status;
}

/* held: Intel PT starts later. */
static void enable(struct intel_pt_event *event, bool held)
{
	if (event->on || !event->thread)
		return;
	event->on = true;
	if (!held)
		(void)ioctl(event->fd, PERF_EVENT_IOC_ENABLE, 0);
	(void)ioctl(event->sideband, PERF_EVENT_IOC_ENABLE, 0);
}

void intel_pt_events_enable(struct intel_pt *pt)
{
	for (size_t i = 0; i < pt->count; i++)
		for (size_t j = 0; j < pt->buffers[i]->count; j++)
			enable(&pt->buffers[i]->list[j], pt->held);
}

/* ---- all ------------------------------------------------------------------------------------- */

static size_t aux_size_of(const struct record_settings *settings)
{
	return settings->pt.aux_size ? (size_t)settings->pt.aux_size : AUX_DEFAULT;
}

/* Opens the events of targets from `first` on. */
static int open_buffers(struct intel_pt *pt, size_t first, bool on_exec)
{
	int status = 0;

	for (size_t i = first; pt->per_thread && status == 0 && i < pt->target_count; i++)
		status = open_buffer(pt, PTL_NO_CPU, i, i + 1, on_exec);
	for (size_t i = 0; !pt->per_thread && status == 0 && i < pt->cpu_count; i++)
		status = open_buffer(pt, pt->cpus[i], first, pt->target_count, on_exec);
	return status;
}

/* Starts a thread per BUFFERS_PER_THREAD initial buffers, with queue memory per buffer. Later buffers share both. */
static int start_drainers(struct intel_pt *pt)
{
	const struct record_pt_settings *settings = &pt->session->settings->pt;
	const uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / QUEUE_SHARE;
	const size_t buffers = pt->cpu_count ? pt->cpu_count : 1;
	uint64_t queue = settings->queue_size;
	unsigned threads = settings->drain_threads;

	if (pt->snapshot)
		return 0;
	if (!queue)
		queue = buffers * QUEUE_DEFAULT < memory ? buffers * QUEUE_DEFAULT : memory;
	if (!threads)
		threads = (unsigned)((buffers + BUFFERS_PER_THREAD - 1) / BUFFERS_PER_THREAD);
	return intel_pt_drainers_start(pt, threads, queue, &pt->drainers);
}

static int open_streams(struct intel_pt *pt)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < pt->count; i++)
		if (!pt->buffers[i]->opened)
			status = open_stream(pt, pt->buffers[i]);
	return status;
}

int intel_pt_events_open(struct intel_pt *pt, bool on_exec)
{
	const struct record_settings *settings = pt->session->settings;
	int status;

	pt->data_size = (size_t)settings->ring_size;
	pt->aux_size = aux_size_of(settings);
	/* Without --aux-buffer: halves the AUX area until the areas of all CPUs can be locked. */
	while ((status = open_buffers(pt, 0, on_exec)) == MEMORY) {
		intel_pt_events_close(pt);
		pt->aux_size /= 2;
	}
	if (status == 0 && !pt->count && !pt->names)
		status = common_fail(PTL_SYSTEM, "the threads to be recorded have ended");
	if (status == 0)
		status = start_drainers(pt);
	return status == 0 ? open_streams(pt) : status;
}

/* Reports that the rings of new threads exceed the permitted memory. */
static int lose_threads(struct intel_pt *pt)
{
	const struct ptl_loss loss = {
		.kind = PTL_LOSS_BYTES,
		.stream = PTL_NO_ID,
		.pid = PTL_NO_ID,
		.tid = PTL_NO_ID,
		.count = 1,
		.first_time = record_now(),
		.cause = "no more memory may be locked: threads that began later have no buffers (--aux-buffer makes "
			 "them smaller)",
	};

	return record_capture_loss(&pt->session->capture, &loss);
}

int intel_pt_events_add(struct intel_pt *pt, size_t first)
{
	int status = open_buffers(pt, first, false);

	if (status == MEMORY)
		status = lose_threads(pt);
	if (status == 0)
		status = open_streams(pt);
	if (status == 0)
		intel_pt_events_enable(pt);
	return status;
}

static bool has_ended(const struct intel_pt_event *event)
{
	struct pollfd ready = {.fd = event->fd};

	/* The event hangs up after all inheriting threads have ended. */
	return event->thread > 0 && poll(&ready, 1, 0) > 0 && ready.revents & POLLHUP;
}

static void drop_target(struct intel_pt *pt, pid_t thread)
{
	size_t left = 0;

	for (size_t i = 0; i < pt->target_count; i++)
		if (pt->targets[i] != thread)
			pt->targets[left++] = pt->targets[i];
	pt->target_count = left;
}

/* Drops the events of ended threads, except for the first event, which holds the rings. */
static void drop_events(struct intel_pt *pt, struct intel_pt_buffer *buffer)
{
	size_t left = 1;

	pthread_mutex_lock(&buffer->lock);
	for (size_t i = 1; i < buffer->count; i++) {
		if (has_ended(&buffer->list[i])) {
			drop_target(pt, buffer->list[i].thread);
			buffer->losses.counted += lost_by(&buffer->list[i]);
			close_event(&buffer->list[i]);
		} else {
			buffer->list[left++] = buffer->list[i];
		}
	}
	buffer->count = left;
	pthread_mutex_unlock(&buffer->lock);
}

static int drop_buffer(struct intel_pt *pt, size_t n)
{
	struct intel_pt_buffer *buffer = pt->buffers[n];
	bool work;
	int status = intel_pt_drain(pt, buffer, &work);

	if (status == 0)
		status = intel_pt_rate_drop(pt, buffer);
	if (status == 0)
		status = intel_pt_buffer_finish(buffer);
	if (status == 0)
		status = record_capture_end_stream(&pt->session->capture, buffer->stream.id);
	drop_target(pt, buffer->list[0].thread);
	close_buffer(pt, buffer);
	memmove(&pt->buffers[n], &pt->buffers[n + 1], (--pt->count - n) * sizeof(*pt->buffers));
	return status;
}

int intel_pt_events_drop_ended(struct intel_pt *pt)
{
	int status = 0;

	for (size_t i = pt->count; status == 0 && i-- > 0;) {
		drop_events(pt, pt->buffers[i]);
		/* With --snapshot, the buffer stays for the final snapshot. */
		if (pt->per_thread && !pt->snapshot && has_ended(&pt->buffers[i]->list[0]))
			status = drop_buffer(pt, i);
	}
	return status;
}

void intel_pt_events_close(struct intel_pt *pt)
{
	for (size_t i = 0; i < pt->count; i++)
		close_buffer(pt, pt->buffers[i]);
	free(pt->buffers);
	pt->buffers = NULL;
	pt->count = pt->capacity = 0;
	intel_pt_drainers_stop(pt->drainers);
	pt->drainers = NULL;
}
