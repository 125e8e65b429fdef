/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * count_events FILE COMMAND [ARGUMENT]...: executes the command, and writes to FILE the counts of CPU and kernel
 * counters in user mode from the first instruction to the end. A child process waits for the end.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	uint32_t type;
	uint64_t config;
	int kernel;
} counters[] = {
	{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 0},
	{"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 0},
	{"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0},
	{"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 1},
};

#define COUNTERS (sizeof(counters) / sizeof(counters[0]))

static int open_counter(size_t i)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = counters[i].type,
		.config = counters[i].config,
		.disabled = 1,
		.enable_on_exec = 1,
		.exclude_kernel = !counters[i].kernel,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

/* Returns the number of interrupts on all CPUs: the first number of "intr" in /proc/stat. */
static uint64_t interrupts(void)
{
	FILE *file = fopen("/proc/stat", "re");
	char line[256];
	unsigned long long sum = 0;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "intr %llu", &sum) == 1)
			break;
	if (file)
		fclose(file);
	return sum;
}

static int report(const char *path, int command, const int *fds, uint64_t before)
{
	struct pollfd end = {.fd = command, .events = POLLIN};
	FILE *file;

	while (poll(&end, 1, -1) < 0 && errno == EINTR)
		;
	file = fopen(path, "we");
	if (!file)
		return 1;
	for (size_t i = 0; i < COUNTERS; i++) {
		uint64_t count = 0;

		if (fds[i] >= 0 && read(fds[i], &count, sizeof(count)) == sizeof(count))
			fprintf(file, "%s %llu\n", counters[i].name, (unsigned long long)count);
	}
	fprintf(file, "interrupts %llu\n", (unsigned long long)(interrupts() - before));
	return fclose(file) != 0;
}

int main(int argc, char **argv)
{
	int fds[COUNTERS], command;
	uint64_t before;

	if (argc < 3) {
		fprintf(stderr, "usage: count_events FILE COMMAND [ARGUMENT]...\n");
		return 2;
	}
	for (size_t i = 0; i < COUNTERS; i++) {
		fds[i] = open_counter(i);
		if (fds[i] < 0 && counters[i].type == PERF_TYPE_HARDWARE) {
			fprintf(stderr, "count_events: %s cannot be counted: %s\n", counters[i].name, strerror(errno));
			return 3;
		}
	}
	command = (int)syscall(SYS_pidfd_open, getpid(), 0);
	before = interrupts();
	if (command >= 0 && fork() == 0)
		_exit(report(argv[1], command, fds, before));
	for (size_t i = 0; i < COUNTERS; i++)
		close(fds[i]);
	execv(argv[2], argv + 2);
	fprintf(stderr, "count_events: %s: %s\n", argv[2], strerror(errno));
	return 127;
}
