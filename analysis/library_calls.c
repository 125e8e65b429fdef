/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of ptl/calls.h: each function of an observer calls the caller's function. */
#include <ptl/calls.h>

#include "analysis/library.h"
#include "common/error.h"
#include "common/structure.h"
#include "common/text/text.h"
#include "flow/library.h"

#define SAME(name) _Static_assert(ANALYSIS_CALL_##name == PTL_CALL_##name, "flags of ptl/calls.h are flags of the fold")
SAME(INFERRED);
SAME(TAIL);
SAME(SIGNAL);
SAME(KERNEL);
SAME(OUTSIDE);
SAME(STACK);
SAME(UNWOUND);
SAME(UNFINISHED);
SAME(LOST);
SAME(GUESSED);

struct caller {
	struct ptl_calls_callbacks callbacks;
	void *context;
	const struct analysis_calls *calls;
};

static struct ptl_call_thread thread_of(const struct caller *caller, const struct analysis_call_thread *thread)
{
	const struct flow_timeline *timeline = caller->calls->timeline;
	const char *program = thread->program ? thread->program->path
					      : flow_timeline_process_name(timeline, thread->process, 0);

	return (struct ptl_call_thread){
		.pid = thread->pid,
		.tid = thread->tid,
		.cpu = thread->cpu,
		.stack = thread->stack ? thread->stack->number : 0,
		.process = common_base_name(program),
		.name = thread->thread == FLOW_NONE ? "" : flow_timeline_thread(timeline, thread->thread)->name,
		.time = thread->time,
	};
}

static struct ptl_call call_of(const struct caller *caller, const struct analysis_call_thread *thread,
			       const struct analysis_frame *frame)
{
	const struct analysis_function *function = analysis_function(caller->calls->functions, frame->function);

	return (struct ptl_call){
		.function = frame->function == ANALYSIS_NO_FUNCTION ? PTL_NO_ID : frame->function,
		.depth = (uint32_t)analysis_frame_depth(thread, frame),
		.name = frame->function == ANALYSIS_NO_FUNCTION ? "" : function->name,
		.path = function->path,
		.address = function->address,
		.start = frame->start,
		.flags = frame->flags & ANALYSIS_CALL_SHOWN,
		.stack = thread->stack ? thread->stack->number : 0,
	};
}

static int tell_thread(const struct caller *caller, const char *name,
		       int (*function)(void *context, const struct ptl_call_thread *thread),
		       const struct analysis_call_thread *thread)
{
	const struct ptl_call_thread given = thread_of(caller, thread);

	if (!function)
		return 0;
	ptl_error_clear();
	return flow_library_result("callback", name, function(caller->context, &given));
}

static int tell_call(const struct caller *caller, const char *name,
		     int (*function)(void *context, const struct ptl_call_thread *thread, const struct ptl_call *call),
		     const struct analysis_call_thread *thread, const struct ptl_call *call)
{
	const struct ptl_call_thread given = thread_of(caller, thread);

	ptl_error_clear();
	return flow_library_result("callback", name, function(caller->context, &given, call));
}

static int calls_begin(void *context, struct analysis_call_thread *thread)
{
	const struct caller *caller = context;

	return tell_thread(caller, "begin", caller->callbacks.begin, thread);
}

static int calls_end(void *context, struct analysis_call_thread *thread)
{
	const struct caller *caller = context;

	return tell_thread(caller, "end", caller->callbacks.end, thread);
}

static int calls_change(void *context, struct analysis_call_thread *thread)
{
	const struct caller *caller = context;

	return tell_thread(caller, "switch_stack", caller->callbacks.switch_stack, thread);
}

static int calls_exec(void *context, struct analysis_call_thread *thread)
{
	const struct caller *caller = context;

	return tell_thread(caller, "exec", caller->callbacks.exec, thread);
}

static int calls_gap(void *context, struct analysis_call_thread *thread)
{
	const struct caller *caller = context;

	return tell_thread(caller, "gap", caller->callbacks.gap, thread);
}

static int calls_enter(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	const struct caller *caller = context;
	struct ptl_call call;

	if (!caller->callbacks.enter)
		return 0;
	call = call_of(caller, thread, frame);
	return tell_call(caller, "enter", caller->callbacks.enter, thread, &call);
}

static int calls_below(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	const struct caller *caller = context;
	struct ptl_call call;

	if (!caller->callbacks.below)
		return 0;
	call = call_of(caller, thread, frame);
	return tell_call(caller, "below", caller->callbacks.below, thread, &call);
}

static int calls_rename(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	const struct caller *caller = context;
	struct ptl_call call;

	if (!caller->callbacks.rename)
		return 0;
	call = call_of(caller, thread, frame);
	return tell_call(caller, "rename", caller->callbacks.rename, thread, &call);
}

static int calls_leave(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	const struct caller *caller = context;
	struct ptl_call call;

	if (!caller->callbacks.leave)
		return 0;
	call = call_of(caller, thread, frame);
	call.duration = frame->wall;
	call.time = frame->time;
	call.self_time = frame->time > frame->child_time ? frame->time - frame->child_time : 0;
	call.instructions = frame->instructions;
	call.self_instructions = frame->instructions - frame->child_instructions;
	call.off_time = frame->absence.off;
	call.kernel_time = frame->absence.kernel;
	call.gap_time = frame->absence.gap;
	call.calls = frame->children;
	return tell_call(caller, "leave", caller->callbacks.leave, thread, &call);
}

int ptl_calls_run(struct ptl_analysis *analysis, const struct ptl_flow_options *options,
		  const struct ptl_calls_callbacks *callbacks, void *context)
{
	struct caller caller = {.context = context};
	const struct analysis_call_observer observer = {
		.context = &caller,
		.begin = calls_begin,
		.end = calls_end,
		.enter = calls_enter,
		.rename = calls_rename,
		.leave = calls_leave,
		.below = calls_below,
		.change = calls_change,
		.exec = calls_exec,
		.gap = calls_gap,
	};
	int status;

	if (!analysis || !callbacks)
		return common_fail(PTL_MISUSE, "ptl_calls_run needs an analysis and callbacks");
	caller.calls = &analysis->calls;
	status = common_structure_take("ptl_calls_callbacks", callbacks, &caller.callbacks, sizeof(caller.callbacks));
	if (!status)
		status = analysis_library_options(analysis, options);
	if (status < 0)
		return status;
	return analysis_calls_run(analysis->calls.input.trace, analysis->calls.timeline, &analysis->calls.input.view,
				  analysis->calls.functions, &observer);
}
