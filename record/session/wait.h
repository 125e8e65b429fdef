/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a session sleeps on: descriptors that become readable, a doorbell in memory that others ring, signals, and time.
 *
 * Without a doorbell that is one epoll_wait. With one, the session sleeps on the doorbell itself, which its producers
 * then wake at no more cost than a futex, and a thread rings it for descriptors, which become readable rarely.
 */
#ifndef RECORD_SESSION_WAIT_H
#define RECORD_SESSION_WAIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A word that producers add 1 to when there is something to take; they wake it as a futex while *waiting is 1. */
struct record_doorbell {
	uint32_t *word;
	uint32_t *waiting;
};

struct record_wait {
	int epoll;
	int wake; /* eventfd: written by signals where there is no doorbell, and to end the thread */
	struct record_doorbell doorbell;
	uint32_t seen;
	uint64_t woken; /* when the last sleep ended */
	bool open;
	bool has_doorbell;
	bool forwards; /* the thread runs */
	bool ending;
	pthread_t thread;
};

/* PTL_SYSTEM; nothing is left to be closed after a failure. */
int record_wait_open(struct record_wait *wait);
/* Also of one that is zeroed. */
void record_wait_close(struct record_wait *wait);

/*
 * The descriptor wakes the session when something new is to be read from it; only what is new does, so that a source
 * need not empty it at once. It must stay open until record_wait_close. PTL_SYSTEM.
 */
int record_wait_descriptor(struct record_wait *wait, int fd);
/* One in a session. */
void record_wait_doorbell(struct record_wait *wait, const struct record_doorbell *doorbell);

/* All is there: from now on signals wake, too. PTL_SYSTEM. */
int record_wait_start(struct record_wait *wait);

/* What rings from here on ends the next sleep at once: called before a look at what there is. */
void record_wait_look(struct record_wait *wait);
/* Sleeps at most this many nanoseconds. */
void record_wait_sleep(struct record_wait *wait, uint64_t time);

#endif
