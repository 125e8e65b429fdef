/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hands chunks from a thread that libptl calls back to a caller that wants an iterator. There are three chunks: one being
 * filled, one ready, one with the caller.
 */
#ifndef BINDINGS_PYTHON_QUEUE_H
#define BINDINGS_PYTHON_QUEUE_H

#include <pthread.h>
#include <stdbool.h>

#define PYTHON_CHUNKS 3

struct python_queue {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned filled; /* chunks handed over in total; chunk filled % PYTHON_CHUNKS is being filled */
	unsigned taken;  /* chunks given to the caller in total */
	bool ended;      /* the thread hands over no more chunks */
	bool stop;       /* the caller has closed */
	int status;
	char error[1024];
};

/* Starts `run` in a thread with all signals blocked: signals are for Python. Returns PTL_SYSTEM without a thread. */
int python_queue_start(struct python_queue *queue, void *(*run)(void *context), void *context);
/* In the thread: hands over the filled chunk, and waits until the next chunk is free. PTL_CANCELLED: the caller has closed. */
int python_queue_hand_over(struct python_queue *queue);
/* In the thread, at last: the status of the run, with the text of ptl_error_text. */
void python_queue_end(struct python_queue *queue, int status);
/* Waits for a chunk: 1 and the index of the chunk, valid until the next call; 0 at the end; negative after a failure. */
int python_queue_next(struct python_queue *queue, unsigned *chunk);
/* Ends the thread. */
void python_queue_close(struct python_queue *queue);

#endif
