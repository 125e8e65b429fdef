/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists the calls of a function, and converts them to spans of the flow. */
#include "analysis/call/call_set.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/call/call_mark.h"
#include "common/error.h"
#include "common/partition.h"
#include "common/text/text.h"
#include "common/vector.h"

/* ---- fields -------------------------------------------------------------------------------------- */

enum field {
	FUNCTION,
	CALLER,
	NUMBER,
	NESTED,
	TIME,
	DURATION,
	SELF,
	RUNNING,
	KERNEL,
	OFF_CPU,
	INSTRUCTIONS,
	SELF_INSTRUCTIONS,
	CALLS,
	MARKS,
	CPU,
	PID,
	TID,
	COUNT,
};

const struct query_row_field analysis_set_fields[] = {
	[FUNCTION] = {"function", QUERY_ROW_FUNCTION, false},
	[CALLER] = {"caller", QUERY_ROW_FUNCTION, true},
	[NUMBER] = {"number", QUERY_ROW_NUMBER, true},
	[NESTED] = {"nested", QUERY_ROW_NUMBER, true},
	[TIME] = {"time", QUERY_ROW_DURATION, true},
	[DURATION] = {"duration", QUERY_ROW_DURATION, true},
	[SELF] = {"self", QUERY_ROW_DURATION, true},
	[RUNNING] = {"running", QUERY_ROW_DURATION, true},
	[KERNEL] = {"kernel", QUERY_ROW_DURATION, true},
	[OFF_CPU] = {"off_cpu", QUERY_ROW_DURATION, true},
	[INSTRUCTIONS] = {"instructions", QUERY_ROW_NUMBER, true},
	[SELF_INSTRUCTIONS] = {"self_instructions", QUERY_ROW_NUMBER, true},
	[CALLS] = {"calls", QUERY_ROW_NUMBER, true},
	[MARKS] = {"marks", QUERY_ROW_TEXT, true},
	[CPU] = {"cpu", QUERY_ROW_NUMBER, true},
	[PID] = {"pid", QUERY_ROW_NUMBER, true},
	[TID] = {"tid", QUERY_ROW_NUMBER, true},
	{NULL},
};

static void give_text(const char *text, struct query_value *value)
{
	value->kind = QUERY_VALUE_TEXT;
	value->text = text;
	value->size = strlen(text);
}

static bool is_known(const struct analysis_call_set *set, enum field field)
{
	switch (field) {
	case TIME:
	case DURATION:
	case SELF:
	case RUNNING:
	case KERNEL:
	case OFF_CPU:
		return set->frame->start;
	case CPU:
		return set->thread->cpu != PTL_NO_CPU;
	case PID:
		return set->thread->pid != PTL_NO_ID;
	case TID:
		return set->thread->tid != PTL_NO_ID;
	default:
		return true;
	}
}

static void give_number(const struct analysis_call_set *set, enum field field, struct query_value *value)
{
	const struct analysis_calls *calls = set->matches.calls;
	const struct analysis_frame *frame = set->frame;
	const struct analysis_latency_parts parts = analysis_latency_parts_of(frame);
	const uint64_t numbers[] = {
		[NUMBER] = set->call->number,
		[NESTED] = set->call->nested,
		[TIME] = frame->start - ptl_trace_machine(calls->input.trace)->start_time,
		[DURATION] = frame->wall,
		[SELF] = frame->time > frame->child_time ? frame->time - frame->child_time : 0,
		[RUNNING] = parts.running,
		[KERNEL] = parts.absence.kernel,
		[OFF_CPU] = parts.absence.off,
		[INSTRUCTIONS] = frame->instructions,
		[SELF_INSTRUCTIONS] = frame->instructions - frame->child_instructions,
		[CALLS] = frame->children,
		[CPU] = set->thread->cpu,
		[PID] = set->thread->pid,
		[TID] = set->thread->tid,
	};

	value->kind = QUERY_VALUE_NUMBER;
	value->number = numbers[field];
}

/* Gives a value of the call's events. */
static void give_value(const struct analysis_call_set *set, const struct analysis_call_values *values, unsigned index,
		       struct query_value *value)
{
	const struct analysis_frame *frame = set->frame;
	const struct analysis_valued_call call = {
		.function = analysis_function(set->matches.calls->functions, frame->function)->name,
		.tid = set->thread->tid,
		.from = frame->start,
		.to = frame->start + frame->wall,
	};

	if (frame->start)
		analysis_call_values_get(values, &call, index, value);
}

/* Gives the value of a field, for query_row_asker. */
static void get_field(void *context, unsigned field, struct query_value *value)
{
	struct analysis_call_set *set = context;
	const struct analysis_function_table *functions = set->matches.calls->functions;
	const bool has_caller = analysis_frame_depth(set->thread, set->frame) > 0;

	if (field >= COUNT) {
		give_value(set, set->asking, field - COUNT, value);
		return;
	}
	if (!is_known(set, field))
		return;
	if (field == FUNCTION) {
		give_text(analysis_function(functions, set->frame->function)->name, value);
	} else if (field == CALLER) {
		give_text(has_caller ? analysis_function(functions, set->frame[-1].function)->name : "", value);
	} else if (field == MARKS) {
		set->marks.size = 0;
		analysis_call_marks_text(set->frame->flags, ",", &set->marks);
		give_text(common_text_string(&set->marks), value);
	} else {
		give_number(set, field, value);
	}
}

/* ---- the walk ------------------------------------------------------------------------------------ */

static int add_place(struct analysis_set_place **list, size_t *count, size_t *capacity, size_t what, uint64_t first)
{
	if (COMMON_VECTOR_RESERVE(*list, *capacity, *count + 1, "places of calls"))
		return PTL_NO_MEMORY;
	(*list)[(*count)++] = (struct analysis_set_place){what, first};
	return 0;
}

/* Sets the next known time of calls that ended before. */
static void settle_calls(struct analysis_call_set *set, const struct analysis_call_thread *thread)
{
	if (set->settled == set->count || thread->time <= set->ended)
		return;
	while (set->settled < set->count)
		set->calls[set->settled++].until = thread->time;
}

static int set_begin(void *context, struct analysis_call_thread *thread)
{
	struct analysis_call_set *set = context;

	set->settled = set->count;
	if (COMMON_VECTOR_RESERVE(set->threads, set->thread_capacity, set->thread_count + 1, "threads"))
		return PTL_NO_MEMORY;
	set->threads[set->thread_count++] = (struct analysis_set_thread){
		.process = thread->process,
		.pid = thread->pid,
		.tid = thread->tid,
		.cpu = thread->cpu,
		.first_segment = set->segment_count,
		.first_switch = set->switch_count,
	};
	if (set->active)
		memset(set->active, 0, set->active_capacity * sizeof(*set->active));
	return 0;
}

static int set_segment(void *context, struct analysis_call_thread *thread, const struct flow_segment *segment)
{
	struct analysis_call_set *set = context;

	settle_calls(set, thread);
	return add_place(&set->segments, &set->segment_count, &set->segment_capacity, segment->index,
			 thread->instructions);
}

static int set_change(void *context, struct analysis_call_thread *thread)
{
	struct analysis_call_set *set = context;

	return add_place(&set->switches, &set->switch_count, &set->switch_capacity, thread->stack->number,
			 thread->instructions);
}

/* All frames of all stacks have ended, and the thread is on the stack that it was on before. */
static int set_exec(void *context, struct analysis_call_thread *thread)
{
	return thread->stack_count > 1 ? set_change(context, thread) : 0;
}

/* Makes room for the count of active calls on the current stack. */
static int reserve_active(struct analysis_call_set *set, const struct analysis_call_thread *thread)
{
	const size_t before = set->active_capacity, number = thread->stack->number;

	if (COMMON_VECTOR_RESERVE(set->active, set->active_capacity, number + 1, "stacks of calls"))
		return PTL_NO_MEMORY;
	memset(set->active + before, 0, (set->active_capacity - before) * sizeof(*set->active));
	return 0;
}

int analysis_call_set_begins(struct analysis_matches *matches, struct analysis_frame *frame)
{
	int matching;

	if (frame->flags & ANALYSIS_CALL_NOTED)
		return 0;
	matching = analysis_matches(matches, frame->function);
	if (matching > 0)
		frame->flags |= ANALYSIS_CALL_NOTED;
	return matching;
}

static int set_rename(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct analysis_call_set *set = context;
	const int begins = analysis_call_set_begins(&set->matches, frame);

	if (begins <= 0)
		return begins;
	frame->user = ++set->seen;
	if (reserve_active(set, thread))
		return PTL_NO_MEMORY;
	set->active[thread->stack->number]++;
	return 0;
}

static int set_enter(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	settle_calls(context, thread);
	frame->other = thread->instructions;
	return set_rename(context, thread, frame);
}

static int set_leaf(void *context, struct analysis_call_thread *thread, struct analysis_frame *caller,
		    const struct analysis_transfer *leaf)
{
	struct analysis_call_set *set = context;
	const int matching = analysis_matches(&set->matches, leaf->function);

	(void)thread;
	(void)caller;
	return matching < 0 ? matching : !matching;
}

static int set_leave(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct analysis_call_set *set = context;
	struct analysis_set_call call = {
		.number = frame->user,
		.first = frame->other,
		.end = thread->instructions,
		.start = frame->start,
		.wall = frame->wall,
		.until = UINT64_MAX,
		.instructions = frame->instructions,
		.thread = (uint32_t)(set->thread_count - 1),
		.stack = thread->stack->number,
	};

	settle_calls(set, thread);
	if (!frame->user)
		return 0;
	call.nested = --set->active[call.stack];
	if (frame->flags & (ANALYSIS_CALL_UNFINISHED | ANALYSIS_CALL_INFERRED)) {
		set->incomplete++;
		return 0;
	}
	set->thread = thread;
	set->frame = frame;
	set->call = &call;
	set->asking = set->values;
	if ((set->outermost && call.nested) || (set->where && !query_row_matches(&set->asker)))
		return 0;
	set->asking = set->mark_values;
	call.slow = set->mark && query_row_matches(&set->marker);
	if (COMMON_VECTOR_RESERVE(set->calls, set->capacity, set->count + 1, "calls"))
		return PTL_NO_MEMORY;
	set->calls[set->count++] = call;
	set->ended = thread->time;
	return 0;
}

static int compare_numbers(const void *a, const void *b)
{
	const uint64_t left = ((const struct analysis_set_call *)a)->number;
	const uint64_t right = ((const struct analysis_set_call *)b)->number;

	return left < right ? -1 : left > right;
}

int analysis_call_set_run(struct analysis_call_set *set, const char *option)
{
	const struct analysis_call_observer observer = {
		.context = set,
		.begin = set_begin,
		.segment = set_segment,
		.enter = set_enter,
		.rename = set_rename,
		.leaf = set_leaf,
		.leave = set_leave,
		.change = set_change,
		.exec = set_exec,
	};
	const struct analysis_calls *calls = set->matches.calls;
	int status;

	set->asker = (struct query_row_asker){.query = set->where, .get = get_field, .context = set};
	set->marker = (struct query_row_asker){.query = set->mark, .get = get_field, .context = set};
	status = analysis_call_values_open(calls->input.trace, set->where, &set->values);
	if (status == 0)
		status = analysis_call_values_open(calls->input.trace, set->mark, &set->mark_values);
	if (status == 0)
		status = analysis_calls_walk(calls, &observer);
	if (status == 0 && analysis_functions_count(calls->functions))
		status = analysis_calls_check(calls, option, set->matches.pattern);
	query_row_asker_end(&set->asker);
	query_row_asker_end(&set->marker);
	if (status == 0 && set->count)
		qsort(set->calls, set->count, sizeof(*set->calls), compare_numbers);
	return status;
}

void analysis_call_set_free(struct analysis_call_set *set)
{
	free(set->calls);
	free(set->threads);
	free(set->segments);
	free(set->switches);
	free(set->active);
	analysis_call_values_close(set->values);
	analysis_call_values_close(set->mark_values);
	common_bytes_free(&set->marks);
	analysis_matches_free(&set->matches);
	*set = (struct analysis_call_set){0};
}

const struct analysis_set_call *analysis_call_set_find(const struct analysis_call_set *set, uint64_t number)
{
	const size_t at = COMMON_PARTITION(set->count, i, set->calls[i].number < number);

	return at < set->count && set->calls[at].number == number ? &set->calls[at] : NULL;
}
