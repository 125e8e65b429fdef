/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Wakes a session by readable descriptors, a doorbell in shared memory, signals and time.
 * Without a doorbell the session sleeps in epoll_wait. With a doorbell the session sleeps on the doorbell, and
 * producers wake the session by a futex call. A thread then forwards readable descriptors, which are rare, to the
 * doorbell.
 */
#ifndef RECORD_SESSION_WAIT_H
#define RECORD_SESSION_WAIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A futex. Producers add 1 to *word for new data, and wake the session while *waiting is 1. */
struct record_doorbell {
	uint32_t *word;
	uint32_t *waiting;
};

struct record_wait {
	int epoll;
	int wake; /* eventfd, written by signals without a doorbell, and to end the thread */
	struct record_doorbell doorbell;
	uint32_t seen;
	uint64_t woken; /* end of the last sleep */
	bool open;
	bool has_doorbell;
	bool forwards; /* The thread runs. */
	bool ending;
	pthread_t thread;
};

/* Fails with PTL_SYSTEM. A failed open needs no close. */
int record_wait_open(struct record_wait *wait);
/* Accepts a zeroed `wait`. */
void record_wait_close(struct record_wait *wait);

/*
 * Makes new data on a descriptor wake the session. Unread older data does not wake again, so a source need not empty
 * the descriptor. The descriptor stays open until record_wait_close. Fails with PTL_SYSTEM.
 */
int record_wait_descriptor(struct record_wait *wait, int fd);
/* Sets the only doorbell of the session. */
void record_wait_doorbell(struct record_wait *wait, const struct record_doorbell *doorbell);

/* Starts waiting after all descriptors and the doorbell are known. Signals wake from now on. Fails with PTL_SYSTEM. */
int record_wait_start(struct record_wait *wait);

/* Marks the start of a look for new data: a wake-up from now on ends the next sleep at once. */
void record_wait_look(struct record_wait *wait);
/* Sleeps at most this many nanoseconds. */
void record_wait_sleep(struct record_wait *wait, uint64_t time);

#endif
