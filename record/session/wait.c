/* SPDX-License-Identifier: BSD-2-Clause */
/* Sleeps on epoll, or on a futex with a thread that forwards epoll's events. */
#include "record/session/wait.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "common/signals.h"
#include "record/capture/machine.h"
#include "record/launch/signals.h"

#define EVENTS 16
#define SECOND 1000000000u
#define MILLISECOND 1000000u
/* Minimum time between two wake-ups by descriptors in a burst. */
#define SLEEP_MIN (MILLISECOND / 5)

/* ---- what there is to wait for --------------------------------------------------------------- */

int record_wait_open(struct record_wait *wait)
{
	int status;

	*wait = (struct record_wait){.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), .epoll = -1, .open = true};
	wait->epoll = epoll_create1(EPOLL_CLOEXEC);
	status = wait->wake < 0 || wait->epoll < 0 ? common_fail_errno("cannot wait for descriptors")
						   : record_wait_descriptor(wait, wait->wake);
	if (status < 0)
		record_wait_close(wait);
	return status;
}

int record_wait_descriptor(struct record_wait *wait, int fd)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = fd};

	return epoll_ctl(wait->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? common_fail_errno("cannot wait for a descriptor")
								     : 0;
}

void record_wait_doorbell(struct record_wait *wait, const struct record_doorbell *doorbell)
{
	wait->doorbell = *doorbell;
	wait->has_doorbell = true;
}

static void ring(uint32_t *word)
{
	__atomic_add_fetch(word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void *forward(void *context)
{
	struct record_wait *wait = context;
	struct epoll_event events[EVENTS];

	while (!__atomic_load_n(&wait->ending, __ATOMIC_ACQUIRE))
		if (epoll_wait(wait->epoll, events, EVENTS, -1) > 0)
			ring(wait->doorbell.word);
	return NULL;
}

int record_wait_start(struct record_wait *wait)
{
	int error;

	if (!wait->has_doorbell) {
		record_signals_wake(NULL, wait->wake);
		return 0;
	}
	error = common_thread_start(&wait->thread, NULL, forward, wait);
	if (error) {
		errno = error;
		return common_fail_errno("cannot start a thread");
	}
	wait->forwards = true;
	record_signals_wake(wait->doorbell.word, -1);
	return 0;
}

void record_wait_close(struct record_wait *wait)
{
	const uint64_t one = 1;

	if (!wait->open)
		return;
	record_signals_wake(NULL, -1);
	if (wait->forwards) {
		__atomic_store_n(&wait->ending, true, __ATOMIC_RELEASE);
		/* The write cannot fail: the counter is far below the limit of an eventfd. */
		(void)!write(wait->wake, &one, sizeof(one));
		pthread_join(wait->thread, NULL);
	}
	if (wait->epoll >= 0)
		close(wait->epoll);
	if (wait->wake >= 0)
		close(wait->wake);
	*wait = (struct record_wait){0};
}

/* ---- waiting --------------------------------------------------------------------------------- */

void record_wait_look(struct record_wait *wait)
{
	if (wait->has_doorbell)
		wait->seen = __atomic_load_n(wait->doorbell.word, __ATOMIC_SEQ_CST);
}

static void sleep_on_doorbell(struct record_wait *wait, uint64_t time)
{
	const struct timespec timeout = {(time_t)(time / SECOND), (long)(time % SECOND)};

	__atomic_store_n(wait->doorbell.waiting, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, wait->doorbell.word, FUTEX_WAIT, wait->seen, &timeout, NULL, 0);
	__atomic_store_n(wait->doorbell.waiting, 0, __ATOMIC_SEQ_CST);
}

static bool is_woken(const struct record_wait *wait, const struct epoll_event *events, int count)
{
	for (int i = 0; i < count; i++)
		if (events[i].data.fd == wait->wake)
			return true;
	/* A signal or the timeout ended epoll_wait. */
	return count <= 0;
}

static void sleep_on_descriptors(struct record_wait *wait, uint64_t time)
{
	const uint64_t milliseconds = (time + MILLISECOND - 1) / MILLISECOND;
	struct epoll_event events[EVENTS];
	const int count = epoll_wait(wait->epoll, events, EVENTS, milliseconds < 1000 ? (int)milliseconds : 1000);
	const uint64_t since = record_now() - wait->woken;
	const struct timespec rest = {.tv_nsec = since < SLEEP_MIN ? (long)(SLEEP_MIN - since) : 0};

	/* Ignores which descriptor woke: each source checks its own. A signal ends nanosleep as well. */
	if (!is_woken(wait, events, count) && rest.tv_nsec)
		nanosleep(&rest, NULL);
	wait->woken = record_now();
}

void record_wait_sleep(struct record_wait *wait, uint64_t time)
{
	if (wait->has_doorbell)
		sleep_on_doorbell(wait, time);
	else
		sleep_on_descriptors(wait, time);
}
