/* SPDX-License-Identifier: BSD-2-Clause */
/* The ordered pipeline: jobs run on several threads, results are taken in order by the caller. */
#include "common/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/error.h"
#include "common/signals.h"

#define JOBS_PER_THREAD 4
#define ERROR_SIZE 2048

/*
 * Jobs are started in order. Job i has slot i % window from its start until it was finished:
 * finished <= i < started <= finished + window.
 */
struct run {
	const struct common_pipeline *pipeline;
	size_t window;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool *done;      /* by slot: work has returned */
	size_t started;  /* the next job to start */
	size_t finished; /* the next job to finish */
	size_t end;      /* jobs from here on are not started: count, or the first failed one + 1 */
	int status;      /* of job end - 1, where that failed */
	char error[ERROR_SIZE];
	bool ended;     /* no job is finished any more */
	int unfinished; /* what finish returned while a job waited for its turn, if that failed */
};

/* What this thread is at. */
static _Thread_local struct {
	struct run *run;
	unsigned worker;
	size_t job;
} now;

struct worker {
	struct run *run;
	unsigned number;
	pthread_t thread;
};

static bool can_start(const struct run *run)
{
	return run->started < run->end && run->started - run->finished < run->window;
}

/*
 * Starts the next job and runs it outside the lock, which is held before and after. Of several
 * failures the one of the earliest job is kept, so that the outcome does not depend on the number
 * of threads.
 */
static void work_once(struct run *run, unsigned number)
{
	const size_t job = run->started++;
	int status;

	pthread_mutex_unlock(&run->lock);
	now.run = run;
	now.worker = number;
	now.job = job;
	status = run->pipeline->work(run->pipeline->context, number, job);
	now.run = NULL;
	pthread_mutex_lock(&run->lock);
	if (status < 0 && job < run->end && !run->unfinished) {
		run->end = job + 1;
		run->status = status;
		snprintf(run->error, sizeof(run->error), "%s", ptl_error_text());
	}
	run->done[job % run->window] = true;
	pthread_cond_broadcast(&run->changed);
}

static void leave(const struct run *run, unsigned worker)
{
	if (run->pipeline->leave)
		run->pipeline->leave(run->pipeline->context, worker);
}

static void *worker_main(void *argument)
{
	struct worker *worker = argument;
	struct run *run = worker->run;

	pthread_mutex_lock(&run->lock);
	while (run->started < run->end) {
		if (can_start(run))
			work_once(run, worker->number);
		else
			pthread_cond_wait(&run->changed, &run->lock);
	}
	pthread_mutex_unlock(&run->lock);
	leave(run, worker->number);
	return NULL;
}

static bool next_is_done(const struct run *run)
{
	return run->finished < run->started && run->done[run->finished % run->window];
}

/* Finishes the next job outside the lock, and frees its slot. Returns what finish returned. */
static int finish_once(struct run *run)
{
	const struct common_pipeline *pipeline = run->pipeline;
	int status = 0;

	if (run->status < 0 && run->finished == run->end - 1)
		return common_fail(run->status, "%s", run->error);
	if (pipeline->finish) {
		pthread_mutex_unlock(&run->lock);
		status = pipeline->finish(pipeline->context, run->finished);
		pthread_mutex_lock(&run->lock);
	}
	run->done[run->finished % run->window] = false;
	run->finished++;
	pthread_cond_broadcast(&run->changed);
	return status < 0 ? status : 0;
}

/* Under the lock: the calling thread, which finishes jobs, goes on with that. */
static int await_turn(struct run *run, size_t job, bool finishes)
{
	while (run->finished < job && job < run->end && !run->ended && !run->unfinished) {
		if (!finishes || !next_is_done(run)) {
			pthread_cond_wait(&run->changed, &run->lock);
			continue;
		}
		run->unfinished = finish_once(run);
		if (run->unfinished)
			snprintf(run->error, sizeof(run->error), "%s", ptl_error_text());
	}
	return run->finished < job ? common_fail(PTL_CANCELLED, "the run has failed") : 0;
}

int common_pipeline_await(void)
{
	struct run *run = now.run;
	int status;

	pthread_mutex_lock(&run->lock);
	status = await_turn(run, now.job, now.worker == 0);
	pthread_mutex_unlock(&run->lock);
	return status;
}

/* The calling thread's part: it finishes what is ready, and otherwise works like the others. */
static int drive(struct run *run)
{
	int status = 0;

	pthread_mutex_lock(&run->lock);
	while (status == 0 && run->finished < run->end) {
		if (next_is_done(run))
			status = finish_once(run);
		else if (can_start(run))
			work_once(run, 0);
		else
			pthread_cond_wait(&run->changed, &run->lock);
		if (run->unfinished)
			status = common_fail(run->unfinished, "%s", run->error);
	}
	/* Nothing more is started, and nobody waits for room or for a turn. */
	run->ended = true;
	run->end = run->started;
	pthread_cond_broadcast(&run->changed);
	pthread_mutex_unlock(&run->lock);
	return status;
}

/* Starts workers 1 and up. Returns the number of threads, the caller's included. */
static unsigned start_workers(struct run *run, struct worker *workers, unsigned threads)
{
	unsigned count = 1;

	for (; count < threads; count++) {
		workers[count] = (struct worker){.run = run, .number = count};
		/* Fewer threads than asked for are slower, not wrong. */
		if (common_thread_start(&workers[count].thread, NULL, worker_main, &workers[count]) != 0)
			break;
	}
	return count;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

int common_pipeline_run(const struct common_pipeline *pipeline)
{
	const unsigned wanted = pipeline->threads ? pipeline->threads : common_cpu_count();
	unsigned threads = (unsigned)smaller(wanted, pipeline->count);
	struct run *run;
	struct worker *workers;
	size_t window;
	int status;

	if (!pipeline->count)
		return 0;
	window = pipeline->window ? pipeline->window : (size_t)threads * JOBS_PER_THREAD;
	window = smaller(window, pipeline->count);
	run = calloc(1, sizeof(*run));
	workers = calloc(threads, sizeof(*workers));
	if (run)
		run->done = calloc(window, sizeof(*run->done));
	if (!run || !workers || !run->done) {
		status = common_fail_memory("a pipeline", window);
	} else {
		run->pipeline = pipeline;
		run->window = window;
		run->end = pipeline->count;
		pthread_mutex_init(&run->lock, NULL);
		pthread_cond_init(&run->changed, NULL);
		threads = start_workers(run, workers, threads);
		status = drive(run);
		leave(run, 0);
		for (unsigned i = 1; i < threads; i++)
			pthread_join(workers[i].thread, NULL);
		pthread_cond_destroy(&run->changed);
		pthread_mutex_destroy(&run->lock);
	}
	free(workers);
	if (run)
		free(run->done);
	free(run);
	return status;
}

unsigned common_cpu_count(void)
{
	cpu_set_t set;
	long online;

	if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
		return (unsigned)CPU_COUNT(&set);
	/* More CPUs than the set has room for. */
	online = sysconf(_SC_NPROCESSORS_ONLN);
	return online > 0 ? (unsigned)online : 1;
}
