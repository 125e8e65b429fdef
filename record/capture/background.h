/* SPDX-License-Identifier: BSD-2-Clause */
/* Work that would delay the recording, on a thread of its own. */
#ifndef RECORD_CAPTURE_BACKGROUND_H
#define RECORD_CAPTURE_BACKGROUND_H

#include <pthread.h>
#include <stdbool.h>

#define RECORD_BACKGROUND_TEXT_MAX 512

/* Zero-initialised: nothing is under way. */
struct record_background {
	int (*run)(void *context);
	void *context;
	pthread_t thread;
	bool works;    /* until its end was seen by record_background_done */
	bool threaded; /* it has a thread to be joined */
	bool ended;    /* set by the thread */
	int status;
	char text[RECORD_BACKGROUND_TEXT_MAX]; /* why it failed */
};

/* Begins to run, while nothing else is under way; where there can be no more threads, it has run when this returns. */
void record_background_start(struct record_background *work, int (*run)(void *context), void *context);
/* Until it has ended, or for so long. */
void record_background_await(const struct record_background *work, unsigned milliseconds);
/* Whether it has ended since this was last asked; *status is what it has come to, with its error chain. wait: until it has. */
bool record_background_done(struct record_background *work, bool wait, int *status);

#endif
