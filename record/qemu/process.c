/* SPDX-License-Identifier: BSD-2-Clause */
/* Which processes are traced, and when they die. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/error.h"
#include "record/capture/machine.h"
#include "record/qemu/source.h"

#define EVENTS 64

struct record_qemu_process *record_qemu_find(const struct record_qemu *qemu, uint32_t number)
{
	const uint64_t *value = common_hash_map_get(&qemu->processes, number);

	return value ? (struct record_qemu_process *)(uintptr_t)*value : NULL;
}

/* Asks for a notification when the process is dead; without a pidfd that is noticed only at the end. */
static void watch(struct record_qemu *qemu, struct record_qemu_process *process)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = process->number};

	process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	if (process->pidfd < 0) {
		/* No such process any more: it is dead already. */
		process->dead = errno == ESRCH;
		return;
	}
	if (epoll_ctl(qemu->epoll, EPOLL_CTL_ADD, process->pidfd, &event) < 0) {
		close(process->pidfd);
		process->pidfd = -1;
	}
}

struct record_qemu_process *record_qemu_process(struct record_qemu *qemu, uint32_t number, uint32_t pid)
{
	struct record_qemu_process *process = record_qemu_find(qemu, number);

	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->number = number;
	process->pid = pid;
	if (common_hash_map_put(&qemu->processes, number, (uint64_t)(uintptr_t)process) < 0) {
		free(process);
		return NULL;
	}
	qemu->processes_seen++;
	watch(qemu, process);
	return process;
}

static void forget(struct record_qemu *qemu, struct record_qemu_process *process)
{
	common_hash_map_remove(&qemu->processes, process->number);
	if (process->pidfd >= 0)
		close(process->pidfd);
	free(process);
}

/* Completes what a dead process left behind. */
static int complete(struct record_qemu *qemu, struct record_qemu_process *process)
{
	int status = record_qemu_finish_process(qemu, process->number, NULL);

	if (status == 0)
		status = record_qemu_order_gone(&qemu->order, process->number, process->sequence);
	forget(qemu, process);
	return status;
}

/* Processes that were dead when they were first seen have no pidfd to tell. */
static struct record_qemu_process *find_dead(struct record_qemu *qemu, bool any)
{
	uint64_t number, value;
	size_t at = 0;

	while (common_hash_map_next(&qemu->processes, &at, &number, &value)) {
		struct record_qemu_process *process = (struct record_qemu_process *)(uintptr_t)value;

		if (any || process->dead)
			return process;
	}
	return NULL;
}

int record_qemu_reap(struct record_qemu *qemu)
{
	struct epoll_event events[EVENTS];
	struct record_qemu_process *process;
	int count, status = 0;

	count = epoll_wait(qemu->epoll, events, EVENTS, 0);
	for (int i = 0; i < count; i++) {
		process = record_qemu_find(qemu, (uint32_t)events[i].data.u64);
		if (process)
			process->dead = true;
	}
	while (status == 0 && (process = find_dead(qemu, false)))
		status = complete(qemu, process);
	return status < 0 ? status : record_qemu_order_deliver(&qemu->order, record_now(), false);
}

int record_qemu_reap_all(struct record_qemu *qemu)
{
	struct record_qemu_process *process;
	bool work = true;
	int status = 0;

	/* Draining may bring processes to light that were not known. */
	while (status == 0 && (work || qemu->processes.used)) {
		work = false;
		status = record_qemu_drain(qemu, &work);
		process = find_dead(qemu, true);
		if (status == 0 && process)
			status = complete(qemu, process);
	}
	return status < 0 ? status : record_qemu_order_deliver(&qemu->order, record_now(), true);
}
