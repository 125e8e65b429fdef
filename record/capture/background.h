/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs work that would delay the recording on a separate thread. */
#ifndef RECORD_CAPTURE_BACKGROUND_H
#define RECORD_CAPTURE_BACKGROUND_H

#include <pthread.h>
#include <stdbool.h>

#define RECORD_BACKGROUND_TEXT_MAX 512

/* Zero-initialised: idle. */
struct record_background {
	int (*run)(void *context);
	void *context;
	pthread_t thread;
	bool works;    /* until record_background_done has returned true */
	bool threaded; /* a thread has to be joined */
	bool ended;    /* set by the thread */
	int status;
	char text[RECORD_BACKGROUND_TEXT_MAX]; /* error text of a failure */
};

/*
 * Starts `run` on a thread. The caller starts no second job meanwhile. Without a further thread, runs `run` before
 * returning.
 */
void record_background_start(struct record_background *work, int (*run)(void *context), void *context);
/* Waits until the job has ended, at most `milliseconds`. */
void record_background_await(const struct record_background *work, unsigned milliseconds);
/* Returns true once after the job has ended, with the job's status and error chain. wait: waits for the end. */
bool record_background_done(struct record_background *work, bool wait, int *status);

#endif
