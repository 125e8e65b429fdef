/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_event_open(2), and counts of lost records. */
#include "record/perf/event.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_event(const struct perf_event_attr *attr, pid_t pid, int cpu, int leader)
{
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, leader, PERF_FLAG_FD_CLOEXEC);
}

int record_perf_event_open_member(struct perf_event_attr *attr, pid_t pid, int cpu, int leader)
{
	int fd;

	attr->read_format = PERF_FORMAT_LOST;
	fd = open_event(attr, pid, cpu, leader);
	if (fd >= 0 || errno != EINVAL)
		return fd;
	/* The kernel is older, or another attribute is wrong. */
	attr->read_format = 0;
	return open_event(attr, pid, cpu, leader);
}

int record_perf_event_open(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	return record_perf_event_open_member(attr, pid, cpu, -1);
}

void record_perf_event_set_action(struct perf_event_attr *attr, uint32_t action)
{
	/* `aux_action` stands behind `aux_sample_size`. Headers before Linux 6.13 reserve these bytes. */
	const size_t offset = offsetof(struct perf_event_attr, aux_sample_size) + sizeof(attr->aux_sample_size);

	memcpy((uint8_t *)attr + offset, &action, sizeof(action));
}

uint64_t record_perf_event_lost(int fd)
{
	struct {
		uint64_t value, lost;
	} counts;

	return read(fd, &counts, sizeof(counts)) == sizeof(counts) ? counts.lost : 0;
}

uint64_t record_perf_losses_take(struct record_perf_losses *losses, uint64_t open)
{
	const uint64_t counted = losses->counted + open;
	const uint64_t all = losses->recorded > counted ? losses->recorded : counted;
	const uint64_t unreported = all > losses->reported ? all - losses->reported : 0;

	losses->reported += unreported;
	return unreported;
}
