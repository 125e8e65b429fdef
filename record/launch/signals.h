/* SPDX-License-Identifier: BSD-2-Clause */
/* The one place where signals arrive while a command is recorded. */
#ifndef RECORD_LAUNCH_SIGNALS_H
#define RECORD_LAUNCH_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

/* What has arrived since the last look. */
struct record_signals {
	/* how often the user pressed Ctrl-C or Ctrl-\, which the command gets as well */
	unsigned interrupts;
	unsigned snapshots; /* SIGUSR2 */
	int terminate;      /* SIGTERM or SIGHUP that somebody sent to the recorder; 0: none */
};

/*
 * Takes over SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR2 and SIGCHLD, which only wakes, and ignores SIGPIPE and SIGXFSZ. Signals
 * that were ignored when we were started stay ignored. One at a time in a program.
 */
void record_signals_start(void);

/*
 * From now on a signal adds 1 to *doorbell and wakes who sleeps on it as a futex, and adds 1 to the eventfd fd, so that
 * none is missed between a look and a sleep. NULL, -1: not that.
 */
void record_signals_wake(uint32_t *doorbell, int fd);

/* Puts back how signals were; also for the child that becomes the command. */
void record_signals_stop(void);

/* Gives what has arrived since the last call. */
struct record_signals record_signals_take(void);

#endif
