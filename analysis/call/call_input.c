/* SPDX-License-Identifier: BSD-2-Clause */
/* What analyses of calls work on. */
#include "analysis/call/call_input.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "common/vector.h"
#include "flow/view/shard.h"
#include "query/function_name.h"
#include "query/function_near.h"

int analysis_calls_walk(const struct analysis_calls *calls, const struct analysis_call_observer *observer)
{
	struct flow_view_options options = calls->input.view;
	int status;

	/* The stacks need all flow. */
	options.spans = NULL;
	status = analysis_calls_run(calls->input.trace, calls->timeline, &options, calls->functions, observer);
	common_progress_end();
	return status;
}

int analysis_calls_check(const struct analysis_calls *calls, const char *option, const char *pattern)
{
	const size_t count = analysis_functions_count(calls->functions);
	struct query_near near = {.text = pattern};
	struct query_function_names found = {0};
	bool matches = false;

	/* Another shard may have a matching function. */
	if (calls->input.view.shard && calls->input.view.shard->number)
		return 0;
	for (size_t i = 0; i < count; i++) {
		const struct analysis_function *function = analysis_function(calls->functions, (uint32_t)i);

		if (analysis_function_matches(function, pattern)) {
			query_function_names_add(&found, function->name);
			matches = true;
		} else if (!matches) {
			query_near_look(&near, function->name);
		}
	}
	if (found.count > 1 && !query_function_is_pattern(pattern))
		common_message_note("%s: '%s' stands for %s", option, pattern, query_function_names_text(&found));
	if (matches)
		return 0;
	return common_fail(PTL_MISUSE,
			   "%s: no function that ran is called '%s'%s; 'ptl-dump report' lists them, with --by inline "
			   "also those that were inlined, and patterns may have * and ?",
			   option, pattern, query_near_question(&near));
}

/* ---- patterns ------------------------------------------------------------------------------------ */

int analysis_matches(struct analysis_matches *matches, uint32_t function)
{
	const size_t at = function == ANALYSIS_NO_FUNCTION ? 0 : (size_t)function + 1;
	const size_t before = matches->capacity;
	const struct analysis_function *data = analysis_function(matches->calls->functions, function);
	const int status = COMMON_VECTOR_RESERVE(matches->known, matches->capacity, at + 1, "functions");

	if (status < 0)
		return status;
	if (matches->capacity > before)
		memset(matches->known + before, 0, matches->capacity - before);
	if (!matches->known[at]) {
		const bool is = analysis_function_matches(data, matches->pattern);

		matches->known[at] = is ? 2 : 1;
		if (is && matches->first &&
		    strcmp(data->name, analysis_function(matches->calls->functions, matches->first - 1)->name))
			matches->several = true;
		if (is && !matches->first)
			matches->first = (uint32_t)at;
	}
	return matches->known[at] == 2;
}

void analysis_matches_free(struct analysis_matches *matches)
{
	free(matches->known);
}

void analysis_matches_text(const struct analysis_matches *matches, struct ptl_bytes *text)
{
	if (matches->first && !matches->several)
		analysis_function_text(analysis_function(matches->calls->functions, matches->first - 1), text);
	else
		common_text_safe(text, matches->pattern);
}
