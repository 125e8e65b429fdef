/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the kernel's rings, and takes records out of them in order of time. */
#include "record/kernel/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "common/vector.h"
#include "record/kernel/sideband_state.h"

#define RING_SIZE ((size_t)256 << 10) /* of each CPU; users without privileges have about 512 KiB */
/* A record has its time before it is in its ring: those of other CPUs may still come. */
#define SLACK 1000000u /* nanoseconds */
#define TOLD_MAX (1u << 20)

struct record_ring {
	int fd;
	struct perf_event_mmap_page *page;
};

/* ---- opening --------------------------------------------------------------------------------- */

static int open_cpu(int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.disabled = 1,
		.enable_on_exec = 1,
		.inherit = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int open_ring(struct record_sideband *sideband, int cpu)
{
	struct record_ring *ring = &sideband->rings[sideband->ring_count];
	void *page;

	ring->fd = open_cpu(cpu);
	if (ring->fd < 0)
		/* A CPU that is switched off has no events. */
		return errno == ENODEV ? 0 : common_fail_errno("perf_event_open");
	page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE) + RING_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (page == MAP_FAILED) {
		const int status = common_fail_errno("memory for the kernel's events");

		close(ring->fd);
		return status;
	}
	ring->page = page;
	sideband->ring_count++;
	return 0;
}

struct record_sideband *record_sideband_new(void)
{
	return calloc(1, sizeof(struct record_sideband));
}

/*
 * The kernel's records have the host's time, whoever reads them; in a time namespace CLOCK_MONOTONIC is another. Where the
 * file is not there, neither are such namespaces.
 */
static int64_t read_clock_offset(void)
{
	FILE *file = fopen("/proc/self/timens_offsets", "re");
	long long seconds = 0, nanoseconds = 0;

	if (!file)
		return 0;
	if (fscanf(file, "monotonic %lld %lld", &seconds, &nanoseconds) != 2)
		seconds = nanoseconds = 0;
	fclose(file);
	return seconds * 1000000000 + nanoseconds;
}

int record_sideband_open(struct record_sideband **result)
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
	sideband->clock_offset = read_clock_offset();
	for (int cpu = 0; status == 0 && cpu < cpus; cpu++)
		status = open_ring(sideband, cpu);
	if (status < 0)
		record_sideband_close(sideband);
	else
		*result = sideband;
	return status;
}

void record_sideband_close(struct record_sideband *sideband)
{
	uint64_t pid, value;
	size_t at = 0;

	if (!sideband)
		return;
	for (size_t i = 0; i < sideband->ring_count; i++) {
		munmap(sideband->rings[i].page, (size_t)sysconf(_SC_PAGESIZE) + RING_SIZE);
		close(sideband->rings[i].fd);
	}
	for (size_t i = 0; i < sideband->told_count; i++)
		free(sideband->told[i].data);
	while (common_hash_map_next(&sideband->tasks, &at, &pid, &value))
		record_task_free((struct record_task *)(uintptr_t)value);
	common_hash_map_free(&sideband->tasks);
	free(sideband->told);
	free(sideband->rings);
	free(sideband);
}

/* ---- taking ---------------------------------------------------------------------------------- */

static struct record_told *add_told(struct record_sideband *sideband, size_t size)
{
	struct record_told *told;

	if (COMMON_VECTOR_RESERVE(sideband->told, sideband->told_capacity, sideband->told_count + 1,
				  "the kernel's events"))
		return NULL;
	told = &sideband->told[sideband->told_count];
	*told = (struct record_told){.data = malloc(size), .size = size};
	if (!told->data)
		return NULL;
	told->arrival = sideband->arrivals++;
	sideband->told_count++;
	return told;
}

int record_sideband_put(struct record_sideband *sideband, const void *record, size_t size)
{
	struct record_told *told = add_told(sideband, size);

	if (!told)
		return common_fail_memory("the kernel's events", size);
	memcpy(told->data, record, size);
	told->time = record_told_time(told->data, size);
	return 0;
}

/* Copies one record, which may pass the ring's end. */
static int copy_record(struct record_sideband *sideband, const uint8_t *ring, uint64_t at, size_t size)
{
	const size_t from = at & (RING_SIZE - 1);
	const size_t first = size < RING_SIZE - from ? size : RING_SIZE - from;
	struct record_told *told = add_told(sideband, size);

	if (!told)
		return common_fail_memory("the kernel's events", size);
	memcpy(told->data, ring + from, first);
	memcpy((uint8_t *)told->data + first, ring, size - first);
	told->time = record_told_time(told->data, size) + (uint64_t)sideband->clock_offset;
	return 0;
}

static int empty_ring(struct record_sideband *sideband, const struct record_ring *ring)
{
	const uint8_t *bytes = (const uint8_t *)ring->page + sysconf(_SC_PAGESIZE);
	const uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;
	int status = 0;

	while (status == 0 && head - tail >= sizeof(struct perf_event_header)) {
		struct perf_event_header header;

		/* Records are aligned to 8, so that a header never passes the ring's end. */
		memcpy(&header, bytes + (tail & (RING_SIZE - 1)), sizeof(header));
		if (header.size < sizeof(header) || header.size > head - tail)
			break;
		status = copy_record(sideband, bytes, tail, header.size);
		tail += header.size;
	}
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
	return status;
}

static int compare_told(const void *a, const void *b)
{
	const struct record_told *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->arrival < y->arrival ? -1 : x->arrival > y->arrival;
}

static int empty_rings(struct record_sideband *sideband)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < sideband->ring_count; i++)
		status = empty_ring(sideband, &sideband->rings[i]);
	return status;
}

bool record_sideband_start(struct record_sideband *sideband, uint32_t pid, uint64_t *start)
{
	bool found = record_sideband_task_start(sideband, pid, start);

	if (empty_rings(sideband) < 0)
		return found;
	for (size_t i = 0; i < sideband->told_count; i++) {
		if (!record_told_is_start(&sideband->told[i], pid) || (found && sideband->told[i].time < *start))
			continue;
		*start = sideband->told[i].time;
		found = true;
	}
	return found;
}

int record_sideband_take(struct record_sideband *sideband, uint64_t now, bool all,
			 int (*ended)(void *context, const struct record_past *past), void *context, uint64_t *lost)
{
	size_t done = 0;
	int status = empty_rings(sideband);

	if (sideband->told_count)
		qsort(sideband->told, sideband->told_count, sizeof(*sideband->told), compare_told);
	while (done < sideband->told_count &&
	       (all || sideband->told_count > TOLD_MAX || sideband->told[done].time + SLACK <= now)) {
		if (status == 0)
			status = record_sideband_apply(sideband, &sideband->told[done], ended, context, lost);
		free(sideband->told[done++].data);
	}
	if (done)
		memmove(sideband->told, sideband->told + done, (sideband->told_count - done) * sizeof(*sideband->told));
	sideband->told_count -= done;
	return status;
}
