/* SPDX-License-Identifier: BSD-2-Clause */
/* Common start of commands about calls. */
#include "dump/call/call_session.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/text/nearest.h"
#include "common/text/text.h"
#include "common/vector.h"

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
	dump_session_warn_symbols(calls->session, calls->symbols);
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
	struct common_nearest nearest = {.word = pattern};

	/* Another shard may have a matching function. */
	if (calls->session->saver)
		return 0;
	for (size_t i = 0; i < count; i++) {
		const struct dump_function *function = dump_function(calls->functions, (uint32_t)i);

		if (dump_function_matches(function, pattern))
			return 0;
		common_nearest_look(&nearest, function->name);
	}
	return common_fail(PTL_MISUSE,
			   "%s: no function that ran is called '%s'%s; 'ptl-dump report' lists them, with --by inline "
			   "also those that were inlined, and patterns may have * and ?",
			   option, pattern, common_nearest_question(&nearest));
}

/* ---- patterns ------------------------------------------------------------------------------------ */

int dump_matches(struct dump_matches *matches, uint32_t function)
{
	const size_t at = function == DUMP_NO_FUNCTION ? 0 : (size_t)function + 1;
	const size_t before = matches->capacity;
	const struct dump_function *data = dump_function(matches->calls->functions, function);
	const int status = COMMON_VECTOR_RESERVE(matches->known, matches->capacity, at + 1, "functions");

	if (status < 0)
		return status;
	if (matches->capacity > before)
		memset(matches->known + before, 0, matches->capacity - before);
	if (!matches->known[at]) {
		const bool is = dump_function_matches(data, matches->pattern);

		matches->known[at] = is ? 2 : 1;
		if (is && matches->first &&
		    strcmp(data->name, dump_function(matches->calls->functions, matches->first - 1)->name))
			matches->several = true;
		if (is && !matches->first)
			matches->first = (uint32_t)at;
	}
	return matches->known[at] == 2;
}

void dump_matches_free(struct dump_matches *matches)
{
	free(matches->known);
}

void dump_matches_text(const struct dump_matches *matches, struct ptl_bytes *text)
{
	if (matches->first && !matches->several)
		dump_function_text(dump_function(matches->calls->functions, matches->first - 1), text);
	else
		common_text_safe(text, matches->pattern);
}
