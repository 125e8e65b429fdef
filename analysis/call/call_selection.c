/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses --calls, and finds the selected calls. */
#include "analysis/call/call_selection.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/call/call_within.h"
#include "common/error.h"
#include "common/plural.h"
#include "common/program/message.h"

/* Returns the length of the function's name: up to a colon that is no part of "::". */
static size_t name_size(const char *text)
{
	size_t at = strcspn(text, ":");

	while (text[at] && text[at + 1] == ':')
		at += 2 + strcspn(text + at + 2, ":");
	return at;
}

/* Returns the expression behind the name, without leading blanks; "": no expression. */
static const char *expression_of(const char *text)
{
	const size_t size = name_size(text);
	const char *expression = text[size] ? text + size + 1 : "";

	return expression + strspn(expression, " \t");
}

bool analysis_call_selection_has_expression(const char *text)
{
	return *expression_of(text) != 0;
}

static int selection_parse(struct analysis_call_selection *selection, const char *text)
{
	const char *expression = expression_of(text);
	struct common_string_list texts = {0};
	size_t end = name_size(text);
	int status = 0;

	while (end && text[end - 1] == ' ')
		end--;
	if (!end)
		return common_fail(PTL_MISUSE, "--calls: missing FUNCTION in '%s'", text);
	selection->pattern = strndup(text, end);
	if (!selection->pattern)
		return common_fail_memory("--calls", end);
	selection->where.option = "--calls";
	selection->where.takes_values = true;
	if (*expression)
		status = common_string_list_add(&texts, expression);
	if (status == 0)
		status = query_row_make(&selection->where, analysis_set_fields, &texts);
	common_string_list_free(&texts);
	return status;
}

static void free_parsed(struct analysis_call_selection *selection)
{
	query_row_free(&selection->where);
	free(selection->pattern);
}

int analysis_call_selection_check(const char *text)
{
	struct analysis_call_selection selection = {0};
	const int status = selection_parse(&selection, text);

	free_parsed(&selection);
	return status;
}

static void note_calls(const struct analysis_call_set *set, const char *text)
{
	if (set->incomplete) {
		common_message_note(
			"--calls: %" PRIu64
			" " COMMON_PLURAL("call", "calls") " began or ended outside of the flow, and " COMMON_PLURAL(
				"is", "are") " not selected",
			set->incomplete);
		common_message_hint("ptl-dump stats shows where flow is missing");
	}
	if (!set->count)
		common_message_note("--calls: none of %" PRIu64
				    " " COMMON_PLURAL("call", "calls") " is selected by '%s'",
				    set->seen, text);
}

int analysis_call_selection_open(struct analysis_calls *calls, const char *text)
{
	struct analysis_call_selection *selection;
	int status;

	if (!text)
		return 0;
	selection = calloc(1, sizeof(*selection));
	if (!selection)
		return common_fail_memory("--calls", sizeof(*selection));
	calls->selection = selection;
	status = selection_parse(selection, text);
	if (status < 0)
		return status;
	selection->set.matches = (struct analysis_matches){.calls = calls, .pattern = selection->pattern};
	selection->set.where = &selection->where;
	status = analysis_call_set_run(&selection->set, "--calls");
	if (status == 0)
		status = analysis_call_set_spans(&selection->set, true, &selection->spans);
	if (status == 0) {
		note_calls(&selection->set, text);
		calls->input.view.spans = &selection->spans;
	}
	return status;
}

void analysis_call_selection_close(struct analysis_call_selection *selection)
{
	if (!selection)
		return;
	analysis_call_set_free(&selection->set);
	free_parsed(selection);
	free((void *)(uintptr_t)selection->spans.list);
	free(selection);
}

int analysis_calls_observe(struct analysis_calls *calls, const struct analysis_call_observer *observer)
{
	const int status = calls->selection ? analysis_calls_within(calls, &calls->selection->set, observer)
					    : analysis_calls_walk(calls, observer);

	if (status == 0 && !analysis_functions_count(calls->functions))
		analysis_note_no_flow(&calls->input);
	return status;
}
