/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the traces of a command in turn. */
#include "dump/session/traces.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/program/message.h"
#include "format/reader/trace_end.h"

/* Copies the options with a separate set of pids: --process adds processes of one trace only. */
static int copy_options(const struct dump_options *from, struct dump_options *to)
{
	*to = *from;
	to->filter.pids = (struct common_id_set){0};
	for (size_t i = 0; i < from->filter.pids.count; i++)
		if (common_id_set_add(&to->filter.pids, from->filter.pids.ids[i]) < 0)
			return PTL_NO_MEMORY;
	return 0;
}

/* Calls `take` on the open trace of the session. */
static int take_trace(const struct dump_options *options, struct dump_session *session,
		      int (*take)(void *context, struct dump_session *session), void *context)
{
	struct dump_options own;
	int status = copy_options(options, &own);

	session->options = &own;
	if (!status)
		status = dump_filter_resolve(&own.filter, ptl_trace_machine(session->trace),
					     format_trace_end(session->trace));
	if (!status)
		status = take(context, session);
	common_id_set_free(&own.filter.pids);
	return status;
}

int dump_session_traces(struct dump_session *session, int (*take)(void *context, struct dump_session *session),
			void *context)
{
	struct dump_session own = *session;
	bool damaged = false;
	int status = take_trace(session->options, &own, take, context);

	for (size_t i = 0; status >= 0 && i < session->more_count; i++) {
		own = *session;
		own.path = session->more[i];
		own.trace = NULL;
		/* dump_session_open has reported the error. */
		status = dump_session_open(&own);
		if (status < 0)
			return common_fail(status, "%s cannot be read; without it nothing is complete", own.path);
		status = take_trace(session->options, &own, take, context);
		damaged |= dump_session_close(&own);
	}
	return status < 0 ? status : damaged ? COMMON_EXIT_INPUT : 0;
}
