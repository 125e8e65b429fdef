/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints failures as JSON. docs/json/ documents the members. */
#include <signal.h>
#include <string.h>

#include "analysis/call/call_mark.h"
#include "common/error.h"
#include "common/text/text.h"
#include "dump/crash/print.h"
#include "dump/print/status.h"

static void put_text(struct common_json *json, const char *key, const char *text)
{
	if (text && *text)
		common_json_string(json, key, text);
	else
		common_json_null(json, key);
}

static void put_line(struct common_json *json, const char *file, uint32_t line)
{
	put_text(json, "file", file);
	if (file)
		common_json_u64(json, "line", line);
	else
		common_json_null(json, "line");
}

static void put_address(struct common_json *json, uint64_t address)
{
	if (address)
		common_json_hex(json, "address", address);
	else
		common_json_null(json, "address");
}

static void put_frame_members(struct common_json *json, const struct dump_crash_frame *frame)
{
	put_text(json, "function", frame->function);
	put_text(json, "image", frame->image);
	put_line(json, frame->file, frame->line);
	put_address(json, frame->address);
}

static void put_stack(struct common_json *json, const char *key, const struct dump_crash_stack *stack)
{
	struct ptl_bytes marks = {0};

	common_json_array(json, key);
	for (size_t i = 0; i < stack->count; i++) {
		const struct dump_crash_frame *frame = &stack->frames[i];

		common_json_object(json, NULL);
		put_frame_members(json, frame);
		common_json_bool(json, "inlined", frame->inlined);
		common_json_bool(json, "unmapped", frame->unmapped);
		common_json_bool(json, "runtime", frame->runtime);
		marks.size = 0;
		analysis_call_marks_text(frame->flags, " ", &marks);
		common_json_string(json, "marks", common_text_string(&marks));
		common_json_object_end(json);
	}
	common_json_array_end(json);
	common_bytes_free(&marks);
}

static void put_steps(struct common_json *json, const struct dump_crash_thread *thread)
{
	common_json_array(json, "lines");
	for (size_t i = 0; i < thread->step_count; i++) {
		const struct dump_crash_step *step = &thread->steps[i];

		common_json_object(json, NULL);
		put_text(json, "function", step->function);
		put_text(json, "image", step->image);
		put_line(json, step->file, step->line);
		put_text(json, "words", step->words);
		common_json_bool(json, "after_gap", step->after_gap);
		put_address(json, step->address);
		common_json_object_end(json);
	}
	common_json_array_end(json);
}

static void put_thread(struct common_json *json, const struct dump_crash_thread *thread)
{
	struct ptl_bytes text = {0};

	common_json_object(json, NULL);
	common_json_u64(json, "tid", thread->tid);
	put_text(json, "name", thread->name);
	dump_crash_thread_sentence(thread, &text);
	common_json_string(json, "text", common_text_string(&text));
	put_stack(json, "stack", &thread->stack);
	common_json_u64(json, "frames_missing", thread->stack.missing);
	put_steps(json, thread);
	common_json_bool(json, "gap_at_end", thread->gap);
	common_json_array(json, "events");
	for (size_t i = 0; i < thread->event_count; i++)
		common_json_string(json, NULL, thread->events[i]);
	common_json_array_end(json);
	common_json_object_end(json);
	common_bytes_free(&text);
}

static void put_failure(const struct dump_crash_report *report, const struct dump_failure *failure,
			struct common_json *json)
{
	const struct flow_timeline_process *process = flow_timeline_process(report->timeline, failure->process);
	char room[16];

	common_json_u64(json, "pid", failure->pid);
	put_text(json, "process", process->name);
	put_text(json, "command",
		 process->program_count ? process->programs[process->program_count - 1].command_line : NULL);
	if (failure->kind == DUMP_FAILURE_SIGNAL)
		common_json_string(json, "signal", dump_signal_name((int32_t)failure->number, room));
	else
		common_json_null(json, "signal");
	if (failure->kind == DUMP_FAILURE_EXIT)
		common_json_u64(json, "exit_status", failure->number);
	else
		common_json_null(json, "exit_status");
	common_json_bool(json, "core_dumped", failure->core);
	common_json_bool(json, "failed", failure->kind != DUMP_FAILURE_NONE);
	dump_json_time(report->run, "end", process->ended ? process->end : 0);
}

/* Adds what the event about the signal says. */
static void put_signal(struct common_json *json, const struct flow_fatal_signal *fatal)
{
	if (fatal && fatal->has_address)
		common_json_hex(json, "fault_address", fatal->address);
	else
		common_json_null(json, "fault_address");
	if (fatal && fatal->sender)
		common_json_u64(json, "sender", fatal->sender);
	else
		common_json_null(json, "sender");
}

void dump_crash_json_members(const struct dump_crash_report *report, const struct dump_crash *crash,
			     struct common_json *json)
{
	static const char *const ways[] = {
		[DUMP_CRASH_WAY_UNKNOWN] = NULL,    [DUMP_CRASH_WAY_CALL] = "call",   [DUMP_CRASH_WAY_FAULT] = "fault",
		[DUMP_CRASH_WAY_RETURN] = "return", [DUMP_CRASH_WAY_PANIC] = "panic",
	};
	const struct dump_crash_frame *place = dump_crash_place(crash);
	const struct dump_crash_stack *stack = dump_crash_stack(crash);
	struct ptl_bytes text = {0};

	dump_crash_sentence(report, crash, &text);
	common_json_string(json, "text", common_text_string(&text));
	common_bytes_free(&text);
	put_failure(report, &crash->failure, json);
	put_text(json, "way", ways[crash->way]);
	put_text(json, "reason", stack ? stack->reason : NULL);
	if (crash->thread != DUMP_CRASH_NO_INDEX)
		common_json_u64(json, "tid", crash->threads[crash->thread].tid);
	else
		common_json_null(json, "tid");
	put_signal(json, crash->failure.fatal);
	if (place) {
		common_json_object(json, "place");
		put_frame_members(json, place);
		common_json_object_end(json);
	} else {
		common_json_null(json, "place");
	}
	put_stack(json, "raised", &crash->raised);
	common_json_array(json, "threads");
	for (size_t i = 0; i < crash->thread_count; i++)
		put_thread(json, &crash->threads[i]);
	common_json_array_end(json);
}

static void put_short(const struct dump_crash_report *report, const struct dump_failure *failure,
		      struct common_json *json)
{
	struct ptl_bytes text = {0};

	dump_failure_sentence(failure, report->timeline, &text);
	common_json_string(json, "text", common_text_string(&text));
	common_bytes_free(&text);
	put_failure(report, failure, json);
}

int dump_crash_json(const struct dump_crash_report *report)
{
	struct dump_run *run = report->run;
	struct common_json *json = &run->json_out;
	int status = 0;

	for (size_t i = 0; status == 0 && i < report->failures.count; i++) {
		common_json_object(json, NULL);
		if (i < report->count)
			dump_crash_json_members(report, &report->list[i], json);
		else
			put_short(report, &report->failures.list[i], json);
		common_json_object_end(json);
		common_json_line(json);
		status = dump_output_check(run);
	}
	return status;
}
