/* SPDX-License-Identifier: BSD-2-Clause */
/* Handles the recorder's signals during a recording. */
#ifndef RECORD_LAUNCH_SIGNALS_H
#define RECORD_LAUNCH_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

/* Signals since the last look. */
struct record_signals {
	/* count of Ctrl-C or Ctrl-\; the terminal sends both to the command, too */
	unsigned interrupts;
	unsigned snapshots; /* SIGUSR2 */
	unsigned unused;    /* SIGUSR1 */
	int terminate;      /* SIGTERM or SIGHUP to the recorder; 0 without */
};

/*
 * Catches SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and SIGCHLD, which only wakes. Ignores SIGPIPE and
 * SIGXFSZ. Signals that the recorder inherited as ignored stay ignored. Only one user at a time.
 */
void record_signals_start(void);

/*
 * Makes signals wake: each signal adds 1 to *doorbell, wakes a futex sleeper, and adds 1 to the eventfd fd. No signal
 * is missed between a look and a sleep. doorbell: NULL if unused. fd: -1 if unused.
 */
void record_signals_wake(uint32_t *doorbell, int fd);

/* Restores the earlier signal handling, also in the child before execve. */
void record_signals_stop(void);

/*
 * In a child, after record_signals_stop: raises the SIGINT or SIGQUIT that came before. The terminal sends a signal
 * once, also if the program of the child has not started yet.
 */
void record_signals_repeat(void);

/* Checks whether a signal since record_signals_start asks the recorder to end, seen or not. Callable on any thread. */
bool record_signals_asked(void);

/* Returns the signals since the last call. */
struct record_signals record_signals_take(void);

#endif
