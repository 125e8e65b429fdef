/* SPDX-License-Identifier: BSD-2-Clause */
/* Signal handlers that only count and wake. */
#include "record/launch/signals.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/signals.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const int caught[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD};
/* Signals of failed writes. The write itself also fails with an error. */
static const int ignored[] = {SIGPIPE, SIGXFSZ};

/* static, because signal handlers have no context */
static struct {
	uint32_t *doorbell;
	int wake; /* 1 + descriptor to write to; 0 without */
	unsigned interrupts;
	int interrupt; /* signal of the last interrupt */
	unsigned snapshots;
	unsigned unused;
	int terminate;
	bool end_requested;
	struct sigaction before[COUNT(caught)];
	struct sigaction ignored_before[COUNT(ignored)];
	bool started;
} state;

static void on_signal(int number)
{
	const int kept = errno;
	uint32_t *doorbell = __atomic_load_n(&state.doorbell, __ATOMIC_RELAXED);
	const int wake = __atomic_load_n(&state.wake, __ATOMIC_RELAXED) - 1;
	const uint64_t one = 1;

	if (number == SIGINT || number == SIGQUIT) {
		__atomic_store_n(&state.interrupt, number, __ATOMIC_RELAXED);
		__atomic_add_fetch(&state.interrupts, 1, __ATOMIC_RELAXED);
	} else if (number == SIGUSR2) {
		__atomic_add_fetch(&state.snapshots, 1, __ATOMIC_RELAXED);
	} else if (number == SIGUSR1) {
		__atomic_add_fetch(&state.unused, 1, __ATOMIC_RELAXED);
	} else if (number != SIGCHLD) {
		__atomic_store_n(&state.terminate, number, __ATOMIC_RELAXED);
	}
	if (number != SIGUSR2 && number != SIGCHLD)
		__atomic_store_n(&state.end_requested, true, __ATOMIC_RELAXED);
	/* A full counter wakes as well. */
	if (wake >= 0)
		(void)!write(wake, &one, sizeof(one));
	if (doorbell) {
		__atomic_add_fetch(doorbell, 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, doorbell, FUTEX_WAKE, 1, NULL, NULL, 0);
	}
	errno = kept;
}

void record_signals_start(void)
{
	const int flags = SA_RESTART | SA_NOCLDSTOP;

	state.end_requested = false;
	for (size_t i = 0; i < COUNT(caught); i++) {
		if (caught[i] == SIGCHLD)
			common_signal_catch(caught[i], on_signal, flags, &state.before[i]);
		else
			common_signal_catch_unignored(caught[i], on_signal, flags, &state.before[i]);
	}
	for (size_t i = 0; i < COUNT(ignored); i++)
		common_signal_ignore(ignored[i], &state.ignored_before[i]);
	state.started = true;
}

void record_signals_stop(void)
{
	if (!state.started)
		return;
	for (size_t i = 0; i < COUNT(caught); i++)
		common_signal_restore(caught[i], &state.before[i]);
	for (size_t i = 0; i < COUNT(ignored); i++)
		common_signal_restore(ignored[i], &state.ignored_before[i]);
	state.started = false;
}

void record_signals_repeat(void)
{
	if (__atomic_load_n(&state.interrupts, __ATOMIC_RELAXED))
		raise(__atomic_load_n(&state.interrupt, __ATOMIC_RELAXED));
}

void record_signals_wake(uint32_t *doorbell, int fd)
{
	__atomic_store_n(&state.doorbell, doorbell, __ATOMIC_RELAXED);
	__atomic_store_n(&state.wake, fd + 1, __ATOMIC_RELAXED);
}

bool record_signals_asked(void)
{
	return __atomic_load_n(&state.end_requested, __ATOMIC_RELAXED);
}

struct record_signals record_signals_take(void)
{
	return (struct record_signals){
		.interrupts = __atomic_exchange_n(&state.interrupts, 0, __ATOMIC_RELAXED),
		.snapshots = __atomic_exchange_n(&state.snapshots, 0, __ATOMIC_RELAXED),
		.unused = __atomic_exchange_n(&state.unused, 0, __ATOMIC_RELAXED),
		.terminate = __atomic_exchange_n(&state.terminate, 0, __ATOMIC_RELAXED),
	};
}
