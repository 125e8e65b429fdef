/* SPDX-License-Identifier: BSD-2-Clause */
/* Pairs recorded processes with current processes. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/pmu/player.h"

#define PROCESSES_MAX 64

static struct {
	uint32_t recorded, real;
} processes[PROCESSES_MAX];
static size_t process_count;

static int compare(const void *a, const void *b)
{
	const pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return x < y ? -1 : x > y;
}

static pid_t parent_of(pid_t pid)
{
	char path[64], text[512];
	const char *end;
	ssize_t size;
	int fd, parent = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[size > 0 ? size : 0] = 0;
	end = strrchr(text, ')');
	return end && sscanf(end, ") %*c %d", &parent) == 1 ? parent : 0;
}

static pid_t nth_child(pid_t parent, unsigned n)
{
	pid_t pids[PROCESSES_MAX];
	struct dirent *entry;
	size_t count = 0;
	DIR *folder = opendir("/proc");

	while (folder && count < PROCESSES_MAX && (entry = readdir(folder))) {
		const pid_t pid = (pid_t)atoi(entry->d_name);

		if (pid > 0 && parent_of(pid) == parent)
			pids[count++] = pid;
	}
	if (folder)
		closedir(folder);
	qsort(pids, count, sizeof(*pids), compare);
	return n >= 1 && n <= count ? pids[n - 1] : 0;
}

uint32_t pmu_real(uint32_t recorded)
{
	for (size_t i = 0; i < process_count; i++)
		if (processes[i].recorded == recorded)
			return processes[i].real;
	return recorded;
}

void pmu_add_process(uint32_t recorded, uint32_t number)
{
	if (process_count == PROCESSES_MAX)
		pmu_die("too many processes");
	processes[process_count].recorded = recorded;
	processes[process_count++].real = number;
}

void pmu_take_process(uint32_t recorded, unsigned n)
{
	pid_t found = n ? 0 : pmu_playing.child;

	for (int i = 0; !found && i < PMU_READER_TIME * 5; i++) {
		found = nth_child(pmu_playing.child, n);
		if (!found)
			pmu_sleep_a_little();
	}
	if (!found)
		pmu_die("there is no child %u of %d", n, pmu_playing.child);
	pmu_add_process(recorded, (uint32_t)found);
}

void pmu_wait_for_name(pid_t pid, const char *name)
{
	char path[64], is[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	for (int i = 0; strcmp(is, name) != 0; i++) {
		const int fd = open(path, O_RDONLY | O_CLOEXEC);
		const ssize_t size = fd < 0 ? 0 : read(fd, is, sizeof(is) - 1);

		is[size > 0 ? size - 1 : 0] = 0;
		close(fd);
		if (i > PMU_READER_TIME * 5)
			pmu_die("process %d is \"%s\" and not \"%s\"", pid, is, name);
		pmu_sleep_a_little();
	}
}
