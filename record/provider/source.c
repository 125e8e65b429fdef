/* SPDX-License-Identifier: BSD-2-Clause */
/* Events that programs write, as a source beside the main one. */
#include "record/provider/source.h"

#include "record/provider/providers.h"
#include "record/session/session.h"

#define MILLISECOND 1000000u

static int open_source(struct record_session *session, void **state)
{
	struct record_providers *providers;
	int status = record_providers_open(&session->capture, session->observer, &providers);

	if (status < 0)
		return status;
	if (record_providers_watch(providers) >= 0)
		status = record_wait_descriptor(&session->wait, record_providers_watch(providers));
	if (status < 0)
		record_providers_close(providers);
	else
		*state = providers;
	return status;
}

static int drain(void *state, uint64_t now, bool *work)
{
	/* How long to sleep is said by due. */
	(void)work;
	return record_providers_step(state, now);
}

static uint64_t due(void *state, uint64_t now)
{
	return now + (uint64_t)record_providers_patience(state) * MILLISECOND;
}

static int finish(void *state, bool alone)
{
	(void)alone;
	return record_providers_finish(state);
}

static void close_source(void *state)
{
	record_providers_close(state);
}

const struct record_source record_provider_source = {
	.name = "providers",
	.summary = "events that programs write",
	.open = open_source,
	.drain = drain,
	.due = due,
	.finish = finish,
	.close = close_source,
};
