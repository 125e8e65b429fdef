/* SPDX-License-Identifier: BSD-2-Clause */
/* The source of processes outside of the main source. */
#include "record/observe/source.h"

#include "record/capture/machine.h"
#include "record/observe/observer.h"
#include "record/session/session.h"

#define FIRST_NUMBER 0x40000000u /* process number above the main source's numbers */

static int kernel_open(struct record_session *session, void **state)
{
	int status = record_observer_new(&session->capture, FIRST_NUMBER, &session->observer);

	*state = session->observer;
	return status;
}

static int kernel_drain(void *state, uint64_t now, bool *work)
{
	(void)work;
	return record_observer_step(state, now);
}

static uint64_t kernel_due(void *state, uint64_t now)
{
	(void)now;
	return record_observer_due(state);
}

static int kernel_finish(void *state, bool alone)
{
	(void)alone;
	return record_observer_finish(state, record_now());
}

static void kernel_close(void *state)
{
	record_observer_free(state);
}

const struct record_source record_kernel_source = {
	.name = "processes",
	.summary = "processes that run natively",
	.open = kernel_open,
	.drain = kernel_drain,
	.due = kernel_due,
	.finish = kernel_finish,
	.close = kernel_close,
};
