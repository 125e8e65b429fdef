/* SPDX-License-Identifier: BSD-2-Clause */
/* The ordered pipeline: jobs run on several threads, the caller finishes jobs in order. */
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
 * Jobs are started in order. Job i occupies slot i % window from its start until it is finished:
 * finished <= i < started <= finished + window.
 */
struct run {
	const struct common_pipeline *pipeline;
	size_t window;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool *done;      /* by slot: work has returned */
	size_t started;  /* next job to start */
	size_t finished; /* next job to finish */
	size_t end;      /* first job not to be started: count, or the first failed job + 1 */
	int status;      /* of job end - 1, if that job failed */
	char error[ERROR_SIZE];
	bool ended;     /* no further job will be finished */
	int unfinished; /* failure of finish, called while a job waited in common_pipeline_await */
};

/* The job that this thread is working on. */
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
 * Starts the next job and runs its work. The caller holds the lock, which is released during the work. Of several
 * failures, the failure of the earliest job is kept, so that the outcome does not depend on the number of threads.
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

static void leave_run(const struct run *run, unsigned worker)
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
	leave_run(run, worker->number);
	return NULL;
}

static bool next_is_done(const struct run *run)
{
	return run->finished < run->started && run->done[run->finished % run->window];
}

/*
 * Finishes the next job and frees its slot. The caller holds the lock, which is released during finish. Returns the
 * result of finish.
 */
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

/*
 * Waits until all jobs before `job` are finished. The caller holds the lock. finishes: this is the calling thread,
 * which finishes jobs while waiting.
 */
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

/* The calling thread's loop: finishes jobs that are done, and otherwise works on jobs like the other threads. */
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
	/* No further job starts, and no thread keeps waiting for room or for its turn. */
	run->ended = true;
	run->end = run->started;
	pthread_cond_broadcast(&run->changed);
	pthread_mutex_unlock(&run->lock);
	return status;
}

/* Starts workers 1 and up. Returns the number of threads, including the caller's. */
static unsigned start_workers(struct run *run, struct worker *workers, unsigned threads)
{
	unsigned count = 1;

	for (; count < threads; count++) {
		workers[count] = (struct worker){.run = run, .number = count};
		/* With fewer threads than requested, the run is slower but correct. */
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
		leave_run(run, 0);
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
	/* The machine has more CPUs than a cpu_set_t has room for. */
	online = sysconf(_SC_NPROCESSORS_ONLN);
	return online > 0 ? (unsigned)online : 1;
}
