/* SPDX-License-Identifier: BSD-2-Clause */
/* Fields of calls for --where. */
#include <string.h>

#include "analysis/call/call_mark.h"
#include "analysis/event/call_values.h"
#include "common/text/text.h"
#include "dump/command/calls_print.h"

enum field {
	FUNCTION,
	IMAGE,
	PATH,
	ADDRESS,
	TIME,
	DURATION,
	SELF,
	INSTRUCTIONS,
	SELF_INSTRUCTIONS,
	CALLS,
	REPEATS,
	DEPTH,
	STACK,
	MARKS,
	CPU,
	PID,
	TID,
	PROCESS,
	COUNT,
};

const struct query_row_field dump_calls_fields[] = {
	[FUNCTION] = {"function", QUERY_ROW_FUNCTION, false},
	[IMAGE] = {"image", QUERY_ROW_TEXT, false},
	[PATH] = {"path", QUERY_ROW_TEXT, false},
	[ADDRESS] = {"address", QUERY_ROW_NUMBER, false},
	[TIME] = {"time", QUERY_ROW_DURATION, true},
	[DURATION] = {"duration", QUERY_ROW_DURATION, true},
	[SELF] = {"self", QUERY_ROW_DURATION, true},
	[INSTRUCTIONS] = {"instructions", QUERY_ROW_NUMBER, true},
	[SELF_INSTRUCTIONS] = {"self_instructions", QUERY_ROW_NUMBER, true},
	[CALLS] = {"calls", QUERY_ROW_NUMBER, true},
	[REPEATS] = {"repeats", QUERY_ROW_NUMBER, true},
	[DEPTH] = {"depth", QUERY_ROW_NUMBER, true},
	[STACK] = {"stack", QUERY_ROW_NUMBER, true},
	[MARKS] = {"marks", QUERY_ROW_TEXT, true},
	[CPU] = {"cpu", QUERY_ROW_NUMBER, true},
	[PID] = {"pid", QUERY_ROW_NUMBER, true},
	[TID] = {"tid", QUERY_ROW_NUMBER, true},
	[PROCESS] = {"process", QUERY_ROW_TEXT, true},
	{NULL},
};

bool dump_calls_where_folds(const struct query_row *query)
{
	return !query->expr || query->used >> REPEATS & 1;
}

const char *dump_calls_program(const struct analysis_calls *calls, const struct analysis_call_thread *thread)
{
	if (thread->process == FLOW_NONE)
		return "";
	return common_base_name(thread->program ? thread->program->path
						: flow_timeline_process(calls->timeline, thread->process)->name);
}

static void give_text(const char *text, struct query_value *value)
{
	value->kind = QUERY_VALUE_TEXT;
	value->text = text;
	value->size = strlen(text);
}

/* Returns "tail-call,unwound". */
static const char *marks_of(struct dump_calls_row *row)
{
	row->text.size = 0;
	analysis_call_marks_text(row->record->flags, ",", &row->text);
	return common_text_string(&row->text);
}

/* Reads a number. Returns false for a text field. */
static bool get_number(const struct dump_calls_row *row, enum field field, uint64_t *number)
{
	const struct analysis_call_record *record = row->record;
	const uint64_t start = ptl_trace_machine(row->calls->input.trace)->start_time;
	const uint64_t numbers[] = {
		[ADDRESS] = analysis_function(row->calls->functions, record->function)->address,
		[TIME] = record->start - start,
		[DURATION] = record->wall,
		[SELF] = record->self_time,
		[INSTRUCTIONS] = record->instructions,
		[SELF_INSTRUCTIONS] = record->self_instructions,
		[CALLS] = record->children,
		[REPEATS] = record->repeats,
		[DEPTH] = row->level,
		[STACK] = record->stack,
		[CPU] = row->thread->cpu,
		[PID] = row->thread->pid,
		[TID] = row->thread->tid,
	};

	if (dump_calls_fields[field].kind == QUERY_ROW_TEXT || dump_calls_fields[field].kind == QUERY_ROW_FUNCTION)
		return false;
	*number = numbers[field];
	return true;
}

static bool is_known_field(const struct dump_calls_row *row, enum field field)
{
	switch (field) {
	case TIME:
	case DURATION:
	case SELF:
		return row->record->start;
	case CPU:
		return row->thread->cpu != PTL_NO_CPU;
	case PID:
		return row->thread->pid != PTL_NO_ID;
	case TID:
		return row->thread->tid != PTL_NO_ID;
	default:
		return true;
	}
}

/* Gives a value of the call's events. */
static void give_value(const struct dump_calls_row *row, const char *function, unsigned index,
		       struct query_value *value)
{
	const struct analysis_call_record *record = row->record;
	const struct analysis_valued_call call = {
		.function = function,
		.tid = row->thread->tid,
		.from = record->start,
		.to = record->start + record->wall,
	};

	if (record->start)
		analysis_call_values_get(row->values, &call, index, value);
}

void dump_calls_field(void *context, unsigned field, struct query_value *value)
{
	struct dump_calls_row *row = context;
	const struct analysis_function *function = analysis_function(row->calls->functions, row->record->function);
	uint64_t number;

	if (field >= COUNT) {
		give_value(row, function->name, field - COUNT, value);
		return;
	}
	if (!is_known_field(row, field))
		return;
	if (get_number(row, field, &number)) {
		value->kind = QUERY_VALUE_NUMBER;
		value->number = number;
	} else if (field == FUNCTION) {
		give_text(*function->name ? function->name : row->name, value);
	} else if (field == IMAGE) {
		give_text(function->image, value);
	} else if (field == PATH) {
		give_text(function->path, value);
	} else if (field == MARKS) {
		give_text(marks_of(row), value);
	} else {
		give_text(dump_calls_program(row->calls, row->thread), value);
	}
}
