/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread pool. Workers with cleanup handlers are cancelled and joined: at pthread_testcancel, while waiting on a
 * condition, and asynchronously while computing. Threads start and end continuously, so thread ids, stacks and
 * thread-local storage are reused.
 *
 * The C library cancels a waiting or computing thread by a signal, and unwinds from the signal handler with aligned
 * vector instructions: a handler's stack must have the kernel's alignment.
 */
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include "check.h"

#define WORKERS 4
#define JOBS 200

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static unsigned next_job;
static unsigned last_job;
static unsigned finished;
static unsigned cleaned;
static uint64_t results[JOBS];
static __thread uint64_t local;

static uint64_t compute(unsigned job)
{
	uint64_t value = job + 1;

	for (unsigned i = 0; i < 100 + job; i++)
		value = value & 1 ? 3 * value + 1 : value / 2;
	return value;
}

static void unlock(void *argument)
{
	(void)argument;
	cleaned++;
	pthread_mutex_unlock(&lock);
}

static void *worker(void *argument)
{
	(void)argument;
	for (;;) {
		unsigned job;

		pthread_mutex_lock(&lock);
		pthread_cleanup_push(unlock, NULL);
		while (next_job == last_job)
			pthread_cond_wait(&more, &lock);
		job = next_job++;
		pthread_cleanup_pop(0);
		pthread_mutex_unlock(&lock);
		results[job] = compute(job);
		local += results[job];
		pthread_mutex_lock(&lock);
		if (++finished == last_job)
			pthread_cond_signal(&done);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static volatile int spinning;

static void *spin(void *argument)
{
	uint64_t value = 27;

	(void)argument;
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	spinning = 1;
	for (;;)
		value = value & 1 ? 3 * value + 1 : value / 2;
	return NULL;
}

static void run_pool(void)
{
	pthread_t workers[WORKERS];
	void *result;

	next_job = last_job = finished = cleaned = 0;
	for (unsigned i = 0; i < WORKERS; i++)
		CHECK(pthread_create(&workers[i], NULL, worker, NULL) == 0);
	pthread_mutex_lock(&lock);
	last_job = JOBS;
	pthread_cond_broadcast(&more);
	while (finished < JOBS)
		pthread_cond_wait(&done, &lock);
	pthread_mutex_unlock(&lock);
	for (unsigned i = 0; i < WORKERS; i++)
		CHECK(pthread_cancel(workers[i]) == 0);
	pthread_mutex_lock(&lock);
	pthread_cond_broadcast(&more);
	pthread_mutex_unlock(&lock);
	for (unsigned i = 0; i < WORKERS; i++) {
		CHECK(pthread_join(workers[i], &result) == 0);
		CHECK(result == PTHREAD_CANCELED);
	}
	CHECK(cleaned == WORKERS);
	for (unsigned i = 0; i < JOBS; i++)
		CHECK(results[i] == compute(i));
}

static void cancel_spinner(void)
{
	pthread_t thread;
	void *result;

	spinning = 0;
	CHECK(pthread_create(&thread, NULL, spin, NULL) == 0);
	while (!spinning)
		usleep(100);
	CHECK(pthread_cancel(thread) == 0);
	CHECK(pthread_join(thread, &result) == 0);
	CHECK(result == PTHREAD_CANCELED);
}

int main(void)
{
	for (unsigned round = 0; round < 3; round++) {
		run_pool();
		cancel_spinner();
	}
	printf("thread_pool done\n");
	return 0;
}
