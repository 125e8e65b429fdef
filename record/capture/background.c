/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a function on a thread, and brings its status and error text back to the starting thread. */
#include "record/capture/background.h"

#include <stdio.h>
#include <time.h>

#include <ptl/trace.h>

#include "common/error.h"
#include "common/signals.h"

static void *run_background(void *context)
{
	struct record_background *work = context;

	work->status = work->run(work->context);
	snprintf(work->text, sizeof(work->text), "%s", work->status < 0 ? ptl_error_text() : "");
	__atomic_store_n(&work->ended, true, __ATOMIC_RELEASE);
	return NULL;
}

void record_background_start(struct record_background *work, int (*function)(void *context), void *context)
{
	work->run = function;
	work->context = context;
	work->ended = false;
	work->works = true;
	work->threaded = common_thread_start(&work->thread, NULL, run_background, work) == 0;
	if (!work->threaded)
		(void)run_background(work);
}

static bool has_ended(const struct record_background *work)
{
	return !work->works || __atomic_load_n(&work->ended, __ATOMIC_ACQUIRE);
}

void record_background_await(const struct record_background *work, unsigned milliseconds)
{
	static const struct timespec pause = {0, 1000000};

	for (unsigned i = 0; !has_ended(work) && i < milliseconds; i++)
		nanosleep(&pause, NULL);
}

bool record_background_done(struct record_background *work, bool wait, int *status)
{
	if (!work->works || (!wait && !has_ended(work)))
		return false;
	if (work->threaded)
		pthread_join(work->thread, NULL);
	work->works = false;
	*status = work->status < 0 ? common_fail(work->status, "%s", work->text) : 0;
	return true;
}
