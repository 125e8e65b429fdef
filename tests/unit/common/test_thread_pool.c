/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the ordered pipeline: order, window, workers and failures, with one thread and several. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/thread_pool.h"

#define NOBODY ((size_t)-1)

struct bench {
	pthread_t caller;
	unsigned threads;
	size_t window;
	atomic_size_t worked, unfinished, most_unfinished;
	atomic_uint busy[16]; /* by worker */
	atomic_uint left[16]; /* number of leave calls by worker */
	pthread_t thread[16]; /* by worker */
	size_t finished;
	uint64_t results[2000];
	size_t work_fails, work_fails_later, finish_fails;
	bool awaits; /* every third job waits for its turn */
};

/* Waits for the job's turn: all earlier jobs are finished then. */
static int await_turn(struct bench *bench, size_t job)
{
	const int status = common_pipeline_await();

	if (!status)
		assert_int_equal(bench->finished, job);
	return status;
}

/* Takes a different time for each job, so that jobs end in another order than they start. */
static int work(void *context, unsigned worker, size_t job)
{
	struct bench *bench = context;
	const size_t unfinished = atomic_fetch_add(&bench->unfinished, 1) + 1;
	size_t most = atomic_load(&bench->most_unfinished);

	while (unfinished > most && !atomic_compare_exchange_weak(&bench->most_unfinished, &most, unfinished))
		;
	assert_true(worker < bench->threads);
	assert_int_equal(atomic_fetch_add(&bench->busy[worker], 1), 0);
	if (worker == 0)
		assert_true(pthread_equal(pthread_self(), bench->caller));
	assert_int_equal(bench->left[worker], 0);
	bench->thread[worker] = pthread_self();
	usleep((useconds_t)(job * 7919 % 13) * 10);
	bench->results[job] = job * job;
	atomic_fetch_add(&bench->worked, 1);
	if (bench->awaits && job % 3 == 0 && await_turn(bench, job) < 0) {
		atomic_fetch_sub(&bench->busy[worker], 1);
		return PTL_CANCELLED;
	}
	atomic_fetch_sub(&bench->busy[worker], 1);
	if (job == bench->work_fails || job == bench->work_fails_later)
		return common_fail(PTL_CORRUPT, "job %zu", job);
	return 1; /* positive: success */
}

static int finish(void *context, size_t job)
{
	struct bench *bench = context;

	assert_true(pthread_equal(pthread_self(), bench->caller));
	assert_int_equal(job, bench->finished);
	assert_int_equal(bench->results[job], job * job);
	bench->finished++;
	atomic_fetch_sub(&bench->unfinished, 1);
	if (job == bench->finish_fails)
		return common_fail(PTL_CANCELLED, "finish %zu", job);
	return 0;
}

/* Called once on each worker's thread. */
static void leave(void *context, unsigned worker)
{
	struct bench *bench = context;

	if (bench->thread[worker])
		assert_true(pthread_equal(pthread_self(), bench->thread[worker]));
	atomic_fetch_add(&bench->left[worker], 1);
}

static struct bench *new_bench(unsigned threads, size_t window)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	assert_non_null(bench);
	bench->caller = pthread_self();
	bench->threads = threads;
	bench->window = window;
	bench->work_fails = bench->work_fails_later = bench->finish_fails = NOBODY;
	return bench;
}

static int run(struct bench *bench, size_t count)
{
	const struct common_pipeline pipeline = {
		.count = count,
		.threads = bench->threads,
		.window = bench->window,
		.context = bench,
		.work = work,
		.finish = finish,
		.leave = leave,
	};
	const int status = common_pipeline_run(&pipeline);

	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(bench->left[i], i < bench->threads && i < count);
	return status;
}

static const unsigned thread_counts[] = {1, 2, 3, 8};

#define FOR_EACH_THREAD_COUNT(t) for (size_t t##_i = 0, t; t##_i < 4 && ((t) = thread_counts[t##_i], 1); t##_i++)

static void in_order(void **state)
{
	(void)state;
	FOR_EACH_THREAD_COUNT (threads) {
		struct bench *bench = new_bench((unsigned)threads, 0);

		assert_int_equal(run(bench, 2000), 0);
		assert_int_equal(bench->finished, 2000);
		assert_int_equal(bench->worked, 2000);
		assert_true(bench->most_unfinished <= 4 * threads);
		free(bench);
	}
}

static void window_bounds_memory(void **state)
{
	(void)state;
	for (size_t window = 1; window <= 3; window++) {
		struct bench *bench = new_bench(4, window);

		assert_int_equal(run(bench, 200), 0);
		assert_int_equal(bench->finished, 200);
		assert_true(bench->most_unfinished <= window);
		free(bench);
	}
}

/* With two failures, the earlier job's failure is reported, and all jobs before it were finished. */
static void work_fails(void **state)
{
	(void)state;
	FOR_EACH_THREAD_COUNT (threads) {
		struct bench *bench = new_bench((unsigned)threads, 0);

		bench->work_fails = 100;
		bench->work_fails_later = 101;
		assert_int_equal(run(bench, 2000), PTL_CORRUPT);
		assert_string_equal(ptl_error_text(), "job 100");
		assert_int_equal(bench->finished, 100);
		assert_true(bench->worked < 101 + 4 * threads + threads);
		free(bench);
	}
}

static void finish_fails(void **state)
{
	(void)state;
	FOR_EACH_THREAD_COUNT (threads) {
		struct bench *bench = new_bench((unsigned)threads, 0);

		bench->finish_fails = 50;
		assert_int_equal(run(bench, 2000), PTL_CANCELLED);
		assert_string_equal(ptl_error_text(), "finish 50");
		assert_int_equal(bench->finished, 51);
		free(bench);
	}
}

/* Waiting jobs get their turn, or learn of the run's failure. */
static void jobs_wait_for_their_turn(void **state)
{
	(void)state;
	FOR_EACH_THREAD_COUNT (threads) {
		struct bench *bench = new_bench((unsigned)threads, 0);

		bench->awaits = true;
		assert_int_equal(run(bench, 500), 0);
		assert_int_equal(bench->finished, 500);
		free(bench);
		bench = new_bench((unsigned)threads, 0);
		bench->awaits = true;
		bench->work_fails = 100;
		assert_int_equal(run(bench, 500), PTL_CORRUPT);
		assert_string_equal(ptl_error_text(), "job 100");
		assert_int_equal(bench->finished, 100);
		free(bench);
		bench = new_bench((unsigned)threads, 0);
		bench->awaits = true;
		bench->finish_fails = 50;
		assert_int_equal(run(bench, 500), PTL_CANCELLED);
		assert_string_equal(ptl_error_text(), "finish 50");
		assert_int_equal(bench->finished, 51);
		free(bench);
	}
}

static void first_and_last_job_fail(void **state)
{
	(void)state;
	FOR_EACH_THREAD_COUNT (threads) {
		struct bench *bench = new_bench((unsigned)threads, 0);

		bench->work_fails = 0;
		assert_int_equal(run(bench, 10), PTL_CORRUPT);
		assert_int_equal(bench->finished, 0);
		free(bench);
		bench = new_bench((unsigned)threads, 0);
		bench->work_fails = 9;
		assert_int_equal(run(bench, 10), PTL_CORRUPT);
		assert_int_equal(bench->finished, 9);
		free(bench);
	}
}

static int count_only(void *context, unsigned worker, size_t job)
{
	(void)worker;
	(void)job;
	atomic_fetch_add((atomic_size_t *)context, 1);
	return 0;
}

static void few_jobs_and_no_finish(void **state)
{
	atomic_size_t count = 0;
	struct common_pipeline pipeline = {.context = &count, .work = count_only};

	(void)state;
	assert_int_equal(common_pipeline_run(&pipeline), 0);
	assert_int_equal(count, 0);
	pipeline.count = 1;
	pipeline.threads = 16;
	assert_int_equal(common_pipeline_run(&pipeline), 0);
	assert_int_equal(count, 1);
	pipeline.count = 5000;
	pipeline.threads = 0;
	assert_int_equal(common_pipeline_run(&pipeline), 0);
	assert_int_equal(count, 5001);
	assert_true(common_cpu_count() >= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_order),
		cmocka_unit_test(window_bounds_memory),
		cmocka_unit_test(work_fails),
		cmocka_unit_test(finish_fails),
		cmocka_unit_test(jobs_wait_for_their_turn),
		cmocka_unit_test(first_and_last_job_fail),
		cmocka_unit_test(few_jobs_and_no_finish),
	};

	return cmocka_run_group_tests_name("thread_pool", tests, NULL, NULL);
}
