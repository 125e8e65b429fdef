/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the kernel's rings, and reads records in the order of time. */
#include "record/perf/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "common/vector.h"
#include "record/clock/clock.h"
#include "record/perf/data_ring.h"
#include "record/perf/event.h"
#include "record/perf/sideband_state.h"
#include "record/perf/uprobe_pmu.h"

#define RING_SIZE ((size_t)256 << 10) /* bytes per CPU; unprivileged users have about 512 KiB */
#define WAITING_MAX (1u << 20)        /* maximum number of waiting records */
#define LOSS_TIME 1000000000u         /* nanoseconds between two checks for lost records */

struct record_ring {
	int fd;
	int cpu;
	struct record_data_ring data;
};

/* A record, copied out of a ring. */
struct waiting {
	struct record_sideband_record record;
	uint64_t arrival; /* orders records with the same time */
	void *data;       /* owned */
};

struct record_sideband {
	struct record_ring *rings; /* one ring per CPU */
	bool has_probe;
	struct record_sideband_probe probe; /* probe of the events; owns its path */
	int *more;                          /* events that write into rings of other events */
	size_t more_count, more_capacity;
	size_t ring_count;
	struct record_signal_event signals;
	int64_t clock_offset;    /* result of record_clock_offset() */
	struct waiting *waiting; /* valid from index `first` on */
	size_t first, count, capacity;
	bool sorted;
	uint64_t arrivals;
	struct record_perf_losses losses;
	uint64_t looked;      /* time of the last check for losses, by the trace's clock */
	struct waiting given; /* last result of record_sideband_next */
};

/* ---- opening --------------------------------------------------------------------------------- */

/* Fails with ENOENT if the kernel has no uprobes. */
static int set_probe(struct perf_event_attr *attr, const struct record_sideband_probe *probe)
{
	uint64_t config;

	if (!record_uprobe_pmu(probe->is_return, &attr->type, &config)) {
		errno = ENOENT;
		return -1;
	}
	attr->config = config;
	attr->uprobe_path = (uint64_t)(uintptr_t)probe->path;
	attr->probe_offset = probe->offset;
	attr->sample_period = 1;
	return 0;
}

/* Whether records of all kinds are wanted. targets: NULL as for record_sideband_open. */
static bool reports_all(const struct record_sideband_targets *targets)
{
	return !targets || (!targets->programs_only && !targets->probe && !targets->kernel_code);
}

/* targets: NULL as for record_sideband_open. */
static int open_event(const struct record_sideband_targets *targets, pid_t thread, int cpu)
{
	const bool kernel_code = targets && targets->kernel_code;
	const bool all_records = reports_all(targets);
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		/* An event that only holds a ring for later events belongs to this process, and stays disabled. */
		.disabled = !targets || !targets->count,
		.enable_on_exec = !targets,
		.inherit = thread != -1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.mmap = all_records,
		.mmap2 = all_records,
		.comm = !targets || (!targets->probe && !kernel_code),
		.comm_exec = !targets || (!targets->probe && !kernel_code),
		.ksymbol = kernel_code,
		.text_poke = kernel_code,
		.task = all_records,
		.sample_id_all = 1,
		/* with the TSC, the kernel's default clock is the trace's clock */
		.use_clockid = !record_clock_is_tsc(),
		.clockid = record_clock_is_tsc() ? 0 : CLOCK_MONOTONIC,
		/* wakes at each record */
		.watermark = 1,
		.wakeup_watermark = 1,
	};

	if (targets && targets->probe && set_probe(&attr, targets->probe) < 0)
		return -1;
	return record_perf_event_open(&attr, thread, cpu);
}

/* Opens an event for fatal signals, as open_event. */
static int open_signals(const struct record_signal_event *signals, const struct record_sideband_targets *targets,
			pid_t thread, int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_TRACEPOINT,
		.config = signals->id,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
		.sample_period = 1,
		.disabled = 1,
		.enable_on_exec = !targets,
		.inherit = thread != -1,
		.sample_id_all = 1,
		.use_clockid = !record_clock_is_tsc(),
		.clockid = record_clock_is_tsc() ? 0 : CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	const int fd = record_perf_event_open(&attr, thread, cpu);

	if (fd < 0)
		return fd;
	/* Without the filter, signals with handlers would count as fatal. */
	if (ioctl(fd, PERF_EVENT_IOC_SET_FILTER, RECORD_SIGNAL_EVENT_FILTER) == 0 &&
	    (!targets || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) == 0))
		return fd;
	close(fd);
	return -1;
}

static int map_ring(struct record_sideband *sideband, int fd, int cpu)
{
	struct record_ring *ring = &sideband->rings[sideband->ring_count];
	const int status = record_data_ring_map(&ring->data, fd, RING_SIZE);

	if (status < 0) {
		close(fd);
		return status;
	}
	ring->fd = fd;
	ring->cpu = cpu;
	sideband->ring_count++;
	return 0;
}

/* Makes the event write into the ring of another event. */
static int share_ring(struct record_sideband *sideband, int fd, const struct record_ring *ring)
{
	int status = 0;

	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0)
		status = common_fail_errno("the kernel's events of several threads");
	else if (COMMON_VECTOR_RESERVE(sideband->more, sideband->more_capacity, sideband->more_count + 1, "events"))
		status = PTL_NO_MEMORY;
	if (status == 0)
		sideband->more[sideband->more_count++] = fd;
	else
		close(fd);
	return status;
}

/* Adds the reports of a thread's fatal signals to the thread's ring. The kernel may refuse: other reports still come. */
static int add_signals(struct record_sideband *sideband, const struct record_sideband_targets *targets, pid_t thread,
		       const struct record_ring *ring)
{
	const int fd = sideband->signals.id ? open_signals(&sideband->signals, targets, thread, ring->cpu) : -1;
	int status;

	if (fd < 0)
		return 0;
	status = share_ring(sideband, fd, ring);
	return status == PTL_NO_MEMORY ? status : 0;
}

/* Opens the events of a CPU. The first event is mapped; others share its ring. */
static int open_cpu(struct record_sideband *sideband, const struct record_sideband_targets *targets, int cpu)
{
	const size_t count = targets && targets->count ? targets->count : 1;
	bool mapped = false;
	int status = 0;

	for (size_t i = 0; status == 0 && i < count; i++) {
		const pid_t thread = targets && targets->count ? targets->threads[i] : 0;
		const int fd = open_event(targets, thread, cpu);

		/* The thread has ended. */
		if (fd < 0 && errno == ESRCH)
			continue;
		/* A CPU that is offline has no events. */
		if (fd < 0)
			return errno == ENODEV ? 0 : common_fail_errno("perf_event_open");
		status = mapped ? share_ring(sideband, fd, &sideband->rings[sideband->ring_count - 1])
				: map_ring(sideband, fd, cpu);
		mapped = true;
		if (status == 0 && (!targets || targets->count))
			status = add_signals(sideband, targets, thread, &sideband->rings[sideband->ring_count - 1]);
	}
	return status;
}

static int add_to_ring(struct record_sideband *sideband, const struct record_ring *ring, const pid_t *threads,
		       size_t count)
{
	const struct record_sideband_targets targets = {
		.threads = threads,
		.count = count,
		.probe = sideband->has_probe ? &sideband->probe : NULL,
	};
	int status = 0;

	for (size_t i = 0; status == 0 && i < count; i++) {
		const int fd = open_event(&targets, threads[i], ring->cpu);

		if (fd >= 0) {
			status = share_ring(sideband, fd, ring);
			if (status == 0)
				status = add_signals(sideband, &targets, threads[i], ring);
		} else if (errno != ESRCH)
			status = common_fail_errno("perf_event_open");
	}
	return status;
}

int record_sideband_add(struct record_sideband *sideband, const pid_t *threads, size_t count)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < sideband->ring_count; i++)
		status = add_to_ring(sideband, &sideband->rings[i], threads, count);
	return status;
}

/* Closes the added events that have hung up: their thread and all heirs have ended. */
void record_sideband_drop_ended(struct record_sideband *sideband)
{
	size_t left = 0;

	for (size_t i = 0; i < sideband->more_count; i++) {
		struct pollfd ready = {.fd = sideband->more[i]};

		if (poll(&ready, 1, 0) > 0 && ready.revents & POLLHUP) {
			sideband->losses.counted += record_perf_event_lost(sideband->more[i]);
			close(sideband->more[i]);
		} else {
			sideband->more[left++] = sideband->more[i];
		}
	}
	sideband->more_count = left;
}

struct record_sideband *record_sideband_new(void)
{
	return calloc(1, sizeof(struct record_sideband));
}

static int keep_probe(struct record_sideband *sideband, const struct record_sideband_probe *probe)
{
	sideband->probe = *probe;
	sideband->probe.path = strdup(probe->path);
	sideband->has_probe = true;
	return sideband->probe.path ? 0 : common_fail_memory("a probe", strlen(probe->path));
}

int record_sideband_open(const struct record_sideband_targets *targets, struct record_sideband **result)
{
	const long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct record_sideband *sideband = record_sideband_new();
	int status = 0;

	if (sideband && cpus > 0)
		sideband->rings = calloc((size_t)cpus, sizeof(*sideband->rings));
	if (!sideband || !sideband->rings) {
		free(sideband);
		return common_fail_memory("the kernel's events", sizeof(*sideband));
	}
	sideband->clock_offset = record_clock_offset();
	if (targets && targets->probe)
		status = keep_probe(sideband, targets->probe);
	if (reports_all(targets))
		record_signal_event_find(&sideband->signals);
	for (int cpu = 0; status == 0 && cpu < cpus; cpu++)
		status = open_cpu(sideband, targets, cpu);
	if (status < 0)
		record_sideband_close(sideband);
	else
		*result = sideband;
	return status;
}

static void free_waiting(struct waiting *waiting)
{
	common_bytes_free(&waiting->record.note);
	free(waiting->data);
	*waiting = (struct waiting){.data = NULL};
}

void record_sideband_close(struct record_sideband *sideband)
{
	if (!sideband)
		return;
	for (size_t i = 0; i < sideband->ring_count; i++) {
		record_data_ring_unmap(&sideband->rings[i].data);
		close(sideband->rings[i].fd);
	}
	for (size_t i = 0; i < sideband->more_count; i++)
		close(sideband->more[i]);
	for (size_t i = sideband->first; i < sideband->count; i++)
		free_waiting(&sideband->waiting[i]);
	free_waiting(&sideband->given);
	free(sideband->waiting);
	free(sideband->rings);
	free((char *)sideband->probe.path);
	free(sideband->more);
	free(sideband);
}

int record_sideband_descriptors(const struct record_sideband *sideband, int (*add)(void *context, int fd),
				void *context)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < sideband->ring_count; i++)
		status = add(context, sideband->rings[i].fd);
	return status;
}

/* ---- collecting ------------------------------------------------------------------------------ */

static struct waiting *add_waiting(struct record_sideband *sideband)
{
	struct waiting *waiting;

	if (sideband->first && sideband->count == sideband->capacity) {
		sideband->count -= sideband->first;
		memmove(sideband->waiting, sideband->waiting + sideband->first,
			sideband->count * sizeof(*sideband->waiting));
		sideband->first = 0;
	}
	if (COMMON_VECTOR_RESERVE(sideband->waiting, sideband->capacity, sideband->count + 1, "the kernel's events"))
		return NULL;
	waiting = &sideband->waiting[sideband->count++];
	*waiting = (struct waiting){.arrival = sideband->arrivals++};
	sideband->sorted = false;
	return waiting;
}

int record_sideband_put(struct record_sideband *sideband, const void *data, size_t size)
{
	void *copy = malloc(size);
	struct waiting *waiting;

	if (!copy)
		return common_fail_memory("the kernel's events", size);
	memcpy(copy, data, size);
	waiting = add_waiting(sideband);
	if (!waiting) {
		free(copy);
		return PTL_NO_MEMORY;
	}
	waiting->data = copy;
	record_sideband_decode(copy, size, &sideband->signals, &waiting->record);
	waiting->record.time += (uint64_t)sideband->clock_offset;
	if (waiting->record.kind == RECORD_SIDEBAND_LOST) {
		sideband->losses.recorded += waiting->record.lost;
		waiting->record.lost = record_perf_losses_take(&sideband->losses, 0);
		if (!waiting->record.lost)
			waiting->record.kind = RECORD_SIDEBAND_NONE;
	}
	return 0;
}

static int put_lost(struct record_sideband *sideband, uint64_t count)
{
	struct waiting *waiting = add_waiting(sideband);

	if (!waiting)
		return PTL_NO_MEMORY;
	waiting->record = (struct record_sideband_record){
		.kind = RECORD_SIDEBAND_LOST, .time = record_now(), .lost = count, .name = ""};
	return 0;
}

static int empty_ring(struct record_sideband *sideband, struct record_data_ring *ring)
{
	const uint64_t head = record_data_ring_head(ring);
	const struct perf_event_header *record;
	int status = 0, found;

	while (status == 0 && (found = record_data_ring_next(ring, head, &record)) != 0) {
		/* The ring was invalid; the number of skipped records is unknown. */
		if (found < 0)
			return put_lost(sideband, 1);
		status = record_sideband_put(sideband, record, record->size);
		record_data_ring_taken(ring, record);
	}
	return status;
}

int record_sideband_collect_losses(struct record_sideband *sideband)
{
	uint64_t open = 0, missing;

	for (size_t i = 0; i < sideband->ring_count; i++)
		open += record_perf_event_lost(sideband->rings[i].fd);
	for (size_t i = 0; i < sideband->more_count; i++)
		open += record_perf_event_lost(sideband->more[i]);
	sideband->looked = record_now();
	missing = record_perf_losses_take(&sideband->losses, open);
	return missing ? put_lost(sideband, missing) : 0;
}

/*
 * Empties all rings twice. The cause of a record on another CPU was written earlier, but possibly after its ring was
 * emptied the first time.
 */
int record_sideband_collect(struct record_sideband *sideband)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < 2 * sideband->ring_count; i++)
		status = empty_ring(sideband, &sideband->rings[i % sideband->ring_count].data);
	if (status == 0 && record_now() - sideband->looked > LOSS_TIME)
		status = record_sideband_collect_losses(sideband);
	return status;
}

/* ---- ordering -------------------------------------------------------------------------------- */

static int compare_waiting(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;

	if (x->record.time != y->record.time)
		return x->record.time < y->record.time ? -1 : 1;
	return x->arrival < y->arrival ? -1 : x->arrival > y->arrival;
}

const struct record_sideband_record *record_sideband_next(struct record_sideband *sideband, uint64_t until)
{
	const size_t count = sideband->count - sideband->first;

	if (count && !sideband->sorted) {
		qsort(sideband->waiting + sideband->first, count, sizeof(*sideband->waiting), compare_waiting);
		sideband->sorted = true;
	}
	free_waiting(&sideband->given);
	if (!count || (sideband->waiting[sideband->first].record.time > until && count <= WAITING_MAX))
		return NULL;
	sideband->given = sideband->waiting[sideband->first++];
	return &sideband->given.record;
}

uint64_t record_sideband_due(const struct record_sideband *sideband)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = sideband->first; i < sideband->count; i++)
		if (sideband->waiting[i].record.time < first)
			first = sideband->waiting[i].record.time;
	return first;
}

struct record_sideband_record *record_sideband_waiting(struct record_sideband *sideband, size_t n)
{
	return n < sideband->count - sideband->first ? &sideband->waiting[sideband->first + n].record : NULL;
}
