/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes calls as slices during the walk over the flow. */
#include "dump/export/timeline/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/call/call_selection.h"
#include "common/error.h"
#include "common/partition.h"
#include "common/text/text.h"
#include "common/vector.h"
#include "dump/export/timeline/timeline_state.h"

/* Samples of counters per trace. A sample spans at least a microsecond. */
#define SAMPLES 1000

/* Flag in frame->user: the frame's slice has begun. */
#define BEGUN 1

/* ---- tracks -------------------------------------------------------------------------------------- */

static int make_row(struct dump_timeline *timeline, const char *name, uint32_t *track)
{
	const struct dump_timeline_track *own = &timeline->output.tracks[timeline->thread_track];
	const int status = dump_timeline_track(&timeline->output, own->pid, own->tid, track);

	if (status == 0)
		timeline->output.format->row(&timeline->output, *track, timeline->thread_track, name);
	return status;
}

/*
 * Returns the track of the current stack. Each stack of a thread has a row of its own, since its calls stay open while
 * the thread is on another stack.
 */
static int stack_track(struct dump_timeline *timeline, const struct analysis_call_thread *thread, uint32_t *track)
{
	const size_t number = thread->stack->number, before = timeline->stack_capacity;
	char name[32];
	int status;

	if (!number) {
		*track = timeline->thread_track;
		return 0;
	}
	status = COMMON_VECTOR_RESERVE(timeline->stacks, timeline->stack_capacity, number + 1, "stacks of calls");
	if (status < 0)
		return status;
	memset(timeline->stacks + before, 0, (timeline->stack_capacity - before) * sizeof(*timeline->stacks));
	if (!timeline->stacks[number]) {
		snprintf(name, sizeof(name), "stack %zu", number);
		status = make_row(timeline, name, &timeline->stacks[number]);
	}
	*track = timeline->stacks[number];
	return status;
}

static int function_name(struct dump_timeline *timeline, uint32_t function, uint32_t *name)
{
	const size_t at = function == ANALYSIS_NO_FUNCTION ? 0 : (size_t)function + 1,
		     before = timeline->function_capacity;
	const struct analysis_function *data;
	struct ptl_bytes text = {0};
	int status = COMMON_VECTOR_RESERVE(timeline->functions, timeline->function_capacity, at + 1, "functions");

	if (status < 0)
		return status;
	memset(timeline->functions + before, 0, (timeline->function_capacity - before) * sizeof(*timeline->functions));
	if (!timeline->functions[at]) {
		data = analysis_function(timeline->calls->functions, function);
		if (!*data->name && *data->path)
			common_text_safe(&text, data->image);
		analysis_function_text(data, &text);
		status = dump_timeline_name(&timeline->output, common_text_string(&text), name);
		common_bytes_free(&text);
		timeline->functions[at] = *name + 1;
	}
	*name = timeline->functions[at] - 1;
	return status;
}

/* ---- time ---------------------------------------------------------------------------------------- */

static void sample(struct dump_timeline *timeline, uint64_t interval)
{
	const uint64_t passed = timeline->time - timeline->sample_time;
	uint32_t name;

	if (!timeline->sample_time) {
		timeline->sample_time = timeline->time;
		timeline->sampled = timeline->executed.all;
		return;
	}
	if (timeline->options->by_instructions || passed < interval)
		return;
	if (dump_timeline_name(&timeline->output, "instructions/us", &name) < 0)
		return;
	timeline->output.format->count(&timeline->output, timeline->counter_track, timeline->sample_time,
				       (timeline->executed.all - timeline->sampled) * 1000 / passed, name);
	timeline->sample_time = timeline->time;
	timeline->sampled = timeline->executed.all;
}

/* Advances to the time of the thread. Ends a gap when the flow resumes. */
static void advance_thread(struct dump_timeline *timeline, const struct analysis_call_thread *thread)
{
	const uint64_t time = timeline->options->by_instructions ? 0 : dump_timeline_time(timeline, thread->time);

	analysis_instruction_count_follow(&timeline->executed, thread);
	timeline->timed |= thread->time != 0;
	if (timeline->options->by_instructions)
		timeline->time = timeline->executed.all;
	else if (time > timeline->time)
		timeline->time = time;
	if (timeline->in_gap && !thread->lost) {
		timeline->output.format->end(&timeline->output, timeline->gap_track, timeline->time);
		timeline->in_gap = false;
	}
}

static uint64_t sample_interval(const struct dump_timeline *timeline)
{
	const struct ptl_machine *machine = ptl_trace_machine(timeline->calls->input.trace);
	const uint64_t whole = machine->end_time > machine->start_time ? machine->end_time - machine->start_time : 0;

	return whole / SAMPLES > 1000 ? whole / SAMPLES : 1000;
}

/* ---- calls --------------------------------------------------------------------------------------- */

static uint64_t start_of(const struct analysis_frame *frame)
{
	return frame->user >> 1;
}

/* Begins the frame's slice, unless --max-slices is reached. */
static int begin_slice(struct dump_timeline *timeline, const struct analysis_call_thread *thread,
		       struct analysis_frame *frame)
{
	uint32_t track, name;
	int status;

	if (timeline->options->max_slices && timeline->slices >= timeline->options->max_slices)
		return 0;
	status = stack_track(timeline, thread, &track);
	if (status == 0)
		status = function_name(timeline, frame->function, &name);
	if (status < 0)
		return status;
	timeline->output.format->begin(&timeline->output, track, start_of(frame), name);
	timeline->slices++;
	frame->user |= BEGUN;
	return dump_timeline_flush(&timeline->output, false);
}

/* Counts the frames with a slice: always the outermost frames. */
static size_t count_begun(const struct analysis_stack *stack)
{
	return COMMON_PARTITION(stack->count, at, stack->frames[at].user & BEGUN);
}

/*
 * Begins slices of the outermost `count` frames that have lasted for --min-time. Slices begin in order of time: a frame
 * cannot reach --min-time before its callers.
 */
static int begin_long(struct dump_timeline *timeline, const struct analysis_call_thread *thread, size_t count)
{
	struct analysis_stack *stack = thread->stack;
	int status = 0;

	for (size_t i = count_begun(stack); status == 0 && i < count; i++) {
		struct analysis_frame *frame = &stack->frames[i];

		if (timeline->time - start_of(frame) < timeline->options->min_time)
			break;
		status = begin_slice(timeline, thread, frame);
		if (!(frame->user & BEGUN))
			break;
	}
	return status;
}

/* A frame of a stub waits for its target function: the next jump may rename the frame. */
static int timeline_enter(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct dump_timeline *timeline = context;
	const bool waits = frame->flags & (ANALYSIS_CALL_STUB | ANALYSIS_CALL_MIDWAY);

	advance_thread(timeline, thread);
	sample(timeline, sample_interval(timeline));
	frame->user = timeline->time << 1;
	return begin_long(timeline, thread, thread->stack->count - waits);
}

static int timeline_leave(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct dump_timeline *timeline = context;
	uint32_t track;
	int status;

	advance_thread(timeline, thread);
	status = begin_long(timeline, thread, thread->stack->count);
	if (status == 0 && frame->user & BEGUN) {
		status = stack_track(timeline, thread, &track);
		if (status == 0)
			timeline->output.format->end(&timeline->output, track, timeline->time);
		return status < 0 ? status : dump_timeline_flush(&timeline->output, false);
	}
	if (timeline->time - start_of(frame) < timeline->options->min_time)
		timeline->short_calls++;
	else
		timeline->more_calls++;
	return status;
}

static int change(void *context, struct analysis_call_thread *thread)
{
	advance_thread(context, thread);
	return 0;
}

static int exec(void *context, struct analysis_call_thread *thread)
{
	struct dump_timeline *timeline = context;
	struct ptl_bytes text = {0};
	uint32_t name;
	int status;

	timeline->executed.seen = 0;
	advance_thread(timeline, thread);
	common_text_add(&text, "exec ");
	common_text_safe(&text, thread->program ? thread->program->path : "");
	status = dump_timeline_name(&timeline->output, common_text_string(&text), &name);
	common_bytes_free(&text);
	if (status == 0)
		timeline->output.format->instant(&timeline->output, timeline->thread_track, timeline->time, name, 0);
	return status;
}

static int timeline_lose(void *context, struct analysis_call_thread *thread)
{
	struct dump_timeline *timeline = context;
	uint32_t name;
	int status = 0;

	timeline->gaps++;
	if (timeline->in_gap || !timeline->begun)
		return 0;
	advance_thread(timeline, thread);
	if (!timeline->gap_track)
		status = make_row(timeline, "gaps", &timeline->gap_track);
	if (status == 0)
		status = dump_timeline_name(&timeline->output, "[gap]", &name);
	if (status < 0)
		return status;
	timeline->in_gap = true;
	timeline->output.format->begin(&timeline->output, timeline->gap_track, timeline->time, name);
	return 0;
}

/* ---- threads ------------------------------------------------------------------------------------- */

static int timeline_begin_thread(void *context, struct analysis_call_thread *thread)
{
	struct dump_timeline *timeline = context;
	struct dump_timeline_output *output = &timeline->output;
	const uint64_t time = timeline->options->by_instructions ? 0 : dump_timeline_time(timeline, thread->time);
	uint32_t process;
	int status = dump_timeline_process(timeline, thread->process, thread->pid, thread->cpu, &process);

	if (status == 0)
		status = dump_timeline_thread(timeline, thread->process, thread->pid, thread->tid, thread->cpu,
					      &timeline->thread_track);
	if (status == 0 && !timeline->options->by_instructions) {
		status = dump_timeline_track(output, 0, 0, &timeline->counter_track);
		if (status == 0)
			output->format->counter(output, timeline->counter_track, timeline->thread_track,
						"instructions/us");
	}
	if (status < 0)
		return status;
	timeline->time = timeline->sample_time = time;
	timeline->executed = (struct analysis_instruction_count){0};
	timeline->sampled = 0;
	timeline->gap_track = DUMP_TIMELINE_NONE;
	timeline->in_gap = false;
	timeline->begun = true;
	if (timeline->stacks)
		memset(timeline->stacks, 0, timeline->stack_capacity * sizeof(*timeline->stacks));
	output->format->sequence(output, timeline->thread_track, time);
	return 0;
}

static int timeline_end_thread(void *context, struct analysis_call_thread *thread)
{
	struct dump_timeline *timeline = context;

	advance_thread(timeline, thread);
	sample(timeline, 1);
	if (timeline->in_gap)
		timeline->output.format->end(&timeline->output, timeline->gap_track, timeline->time);
	timeline->in_gap = timeline->begun = false;
	return dump_timeline_flush(&timeline->output, false);
}

/* Frames found below others existed before them, but their slices begin when they are found. */
static const struct analysis_call_observer observer_of_timeline = {
	.begin = timeline_begin_thread,
	.end = timeline_end_thread,
	.enter = timeline_enter,
	.leave = timeline_leave,
	.below = timeline_enter,
	.change = change,
	.exec = exec,
	.gap = timeline_lose,
};

/* ---- the whole timeline -------------------------------------------------------------------------- */

static void report_left_out(const struct dump_timeline *timeline, struct dump_left_out *left_out)
{
	dump_left_out_add(left_out, timeline->gaps, "gap, of which it is not known what ran",
			  "gaps, of which it is not known what ran");
	dump_left_out_add(left_out, timeline->short_calls, "call shorter than --min-time",
			  "calls shorter than --min-time");
	dump_left_out_add(left_out, timeline->more_calls, "call beyond --max-slices", "calls beyond --max-slices");
}

static int write_timeline(struct dump_timeline *timeline, struct dump_left_out *left_out)
{
	struct dump_timeline_output *output = &timeline->output;
	struct analysis_call_observer observer = observer_of_timeline;
	int status;

	observer.context = timeline;
	output->format->start(output);
	status = analysis_calls_observe(timeline->calls, &observer);
	if (status == 0 && timeline->slices && !timeline->timed && !timeline->options->by_instructions)
		status = common_fail(PTL_MISUSE, "the flow has no times; --by instructions counts these instead");
	if (status == 0 && !timeline->options->by_instructions)
		status = dump_timeline_events(timeline);
	if (status == 0 && !timeline->options->by_instructions)
		status = dump_timeline_switches(timeline);
	if (status == 0 && !timeline->options->by_instructions)
		status = dump_timeline_packets(timeline);
	report_left_out(timeline, left_out);
	if (status == 0)
		output->format->finish(output, dump_left_out_text(left_out));
	return status == 0 ? dump_timeline_flush(output, true) : status;
}

int dump_timeline(struct dump_run *run, struct analysis_calls *calls, const struct dump_timeline_options *options,
		  struct dump_left_out *left_out)
{
	struct dump_timeline timeline = {
		.output = {.run = run, .format = options->format},
		.calls = calls,
		.options = options,
		.start_time = ptl_trace_machine(run->trace)->start_time,
	};
	const int status = write_timeline(&timeline, left_out);

	common_hash_map_free(&timeline.processes);
	common_hash_map_free(&timeline.threads);
	free(timeline.functions);
	free(timeline.stacks);
	dump_timeline_output_free(&timeline.output);
	return status;
}
