/* SPDX-License-Identifier: BSD-2-Clause */
/* Hands chunks from a thread to a caller. */
#include "bindings/python/queue.h"

#include <signal.h>
#include <stdio.h>

#include <ptl/error.h>

int python_queue_start(struct python_queue *queue, void *(*run)(void *context), void *context)
{
	sigset_t all;
	sigset_t before;
	int failed;

	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->changed, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&queue->thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failed ? PTL_SYSTEM : 0;
}

int python_queue_hand_over(struct python_queue *queue)
{
	bool stop;

	pthread_mutex_lock(&queue->lock);
	queue->filled++;
	pthread_cond_broadcast(&queue->changed);
	/* The caller holds a chunk, a second chunk is ready: the third chunk is free. */
	while (!queue->stop && queue->filled - queue->taken > 1)
		pthread_cond_wait(&queue->changed, &queue->lock);
	stop = queue->stop;
	pthread_mutex_unlock(&queue->lock);
	return stop ? PTL_CANCELLED : 0;
}

void python_queue_end(struct python_queue *queue, int status)
{
	pthread_mutex_lock(&queue->lock);
	queue->status = queue->stop ? 0 : status;
	snprintf(queue->error, sizeof(queue->error), "%s", ptl_error_text());
	queue->ended = true;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

int python_queue_next(struct python_queue *queue, unsigned *chunk)
{
	int status;

	pthread_mutex_lock(&queue->lock);
	while (queue->filled == queue->taken && !queue->ended)
		pthread_cond_wait(&queue->changed, &queue->lock);
	status = queue->filled != queue->taken ? 1 : queue->status;
	if (status > 0) {
		*chunk = queue->taken++ % PYTHON_CHUNKS;
		pthread_cond_broadcast(&queue->changed);
	}
	pthread_mutex_unlock(&queue->lock);
	return status;
}

void python_queue_close(struct python_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->stop = true;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
	pthread_join(queue->thread, NULL);
	pthread_cond_destroy(&queue->changed);
	pthread_mutex_destroy(&queue->lock);
}
