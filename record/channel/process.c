/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps track of traced processes and their deaths. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/error.h"
#include "record/capture/machine.h"
#include "record/channel/source.h"
#include "record/proc/proc_files.h"

#define EVENTS 64

struct record_channel_process *record_channel_find(const struct record_channel *channel, uint32_t number)
{
	const uint64_t *value = common_hash_map_get(&channel->processes, number);

	return value ? (struct record_channel_process *)(uintptr_t)*value : NULL;
}

/* Requests a notification of the process's death. Without a pidfd, the death is noticed only at the end. */
static void watch(struct record_channel *channel, struct record_channel_process *process)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = process->number};

	process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
	if (process->pidfd < 0) {
		/* ESRCH: the process is dead already. */
		process->dead = errno == ESRCH;
		return;
	}
	if (epoll_ctl(channel->epoll, EPOLL_CTL_ADD, process->pidfd, &event) < 0) {
		close(process->pidfd);
		process->pidfd = -1;
	}
}

struct record_channel_process *record_channel_process(struct record_channel *channel, uint32_t number, uint32_t pid)
{
	struct record_channel_process *process = record_channel_find(channel, number);

	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->number = number;
	process->pid = pid;
	if (common_hash_map_put(&channel->processes, number, (uint64_t)(uintptr_t)process) < 0) {
		free(process);
		return NULL;
	}
	channel->processes_seen++;
	watch(channel, process);
	return process;
}

static bool is_dead(uint32_t pid)
{
	const int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	const bool ended = pidfd < 0 ? errno == ESRCH : record_proc_has_ended(pidfd);

	if (pidfd >= 0)
		close(pidfd);
	return ended;
}

bool record_channel_adopt(struct channel_slot *slot)
{
	const uint64_t newborn = __atomic_load_n(&slot->newborn, __ATOMIC_ACQUIRE);
	const uint32_t pid = (uint32_t)newborn;

	if (!pid || pid > INT32_MAX || !is_dead(pid))
		return false;
	/* The child may have begun and ended in the meantime. */
	if (__atomic_load_n(&slot->status, __ATOMIC_ACQUIRE) != CHANNEL_SLOT_CLAIMED ||
	    __atomic_load_n(&slot->newborn, __ATOMIC_RELAXED) != newborn)
		return false;
	slot->pid = slot->tid = pid;
	__atomic_store_n(&slot->status, CHANNEL_SLOT_LIVE, __ATOMIC_RELEASE);
	return true;
}

static void forget_process(struct record_channel *channel, struct record_channel_process *process)
{
	common_hash_map_remove(&channel->processes, process->number);
	if (process->pidfd >= 0)
		close(process->pidfd);
	free(process);
}

/* Completes the streams of a dead process. */
static int complete_streams(struct record_channel *channel, struct record_channel_process *process)
{
	int status = record_channel_finish_process(channel, process->number, NULL);
	struct record_channel_death death = {.process = process->number, .sequence = process->sequence};

	death.has_status = record_proc_wait_status(process->pidfd, process->pid, &death.wait_status);
	if (status == 0)
		status = record_channel_order_gone(&channel->order, &death);
	forget_process(channel, process);
	return status;
}

/* Finds processes that were dead at the first sight, and therefore have no pidfd. */
static struct record_channel_process *find_dead(struct record_channel *channel, bool any)
{
	uint64_t number, value;
	size_t at = 0;

	while (common_hash_map_next(&channel->processes, &at, &number, &value)) {
		struct record_channel_process *process = (struct record_channel_process *)(uintptr_t)value;

		if (any || process->dead)
			return process;
	}
	return NULL;
}

int record_channel_reap(struct record_channel *channel)
{
	struct epoll_event events[EVENTS];
	struct record_channel_process *process;
	int count, status = 0;

	count = epoll_wait(channel->epoll, events, EVENTS, 0);
	for (int i = 0; i < count; i++) {
		process = record_channel_find(channel, (uint32_t)events[i].data.u64);
		if (process)
			process->dead = true;
	}
	while (status == 0 && (process = find_dead(channel, false)))
		status = complete_streams(channel, process);
	return status < 0 ? status : record_channel_order_deliver(&channel->order, record_now(), false);
}

int record_channel_reap_all(struct record_channel *channel)
{
	struct record_channel_process *process;
	bool work = true;
	int status = 0;

	/* Draining may reveal unknown processes. */
	while (status == 0 && (work || channel->processes.used)) {
		work = false;
		status = record_channel_drain(channel, &work);
		process = find_dead(channel, true);
		if (status == 0 && process)
			status = complete_streams(channel, process);
	}
	return status < 0 ? status : record_channel_order_deliver(&channel->order, record_now(), true);
}
