/* SPDX-License-Identifier: BSD-2-Clause */
/* What all commands about calls begin with. */
#include "dump/analysis/call_session.h"

#include "common/error.h"
#include "common/message.h"

int dump_call_session_open(struct dump_call_session *calls, struct dump_session *session)
{
	int status;

	*calls = (struct dump_call_session){.session = session};
	status = dump_session_timeline(session, &calls->timeline);
	if (status == 0)
		status = flow_symbols_open(session->trace, calls->timeline, !session->options->no_demangle,
					   &calls->symbols);
	return status == 0 ? dump_functions_open(calls->timeline, calls->symbols, &calls->functions) : status;
}

void dump_call_session_close(struct dump_call_session *calls)
{
	if (calls->symbols && flow_symbols_unreadable(calls->symbols))
		common_message_warning("%zu symbol tables could not be read: names are missing",
				       flow_symbols_unreadable(calls->symbols));
	dump_functions_close(calls->functions);
	flow_symbols_close(calls->symbols);
	flow_timeline_free(calls->timeline);
}

int dump_call_session_run(struct dump_call_session *calls, const struct dump_call_observer *observer)
{
	const struct flow_view_options options = dump_session_view_options(calls->session);
	const int status = dump_calls_run(calls->session->trace, calls->timeline, &options, calls->functions, observer);

	common_progress_end();
	if (status == 0 && !dump_functions_count(calls->functions))
		dump_session_note_no_flow(calls->session);
	return status;
}

int dump_call_session_check(const struct dump_call_session *calls, const char *option, const char *pattern)
{
	const size_t count = dump_functions_count(calls->functions);

	for (size_t i = 0; i < count; i++)
		if (dump_function_matches(dump_function(calls->functions, (uint32_t)i), pattern))
			return 0;
	return common_fail(PTL_MISUSE,
			   "%s: no function that ran is called '%s'; 'ptl-dump report' lists them, and patterns may "
			   "have * and ?",
			   option, pattern);
}
