/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the failed processes, for the box at the top of the page. */
#include <string.h>

#include "common/text/text.h"
#include "dump/crash/crash.h"
#include "dump/export/html/html.h"

#define PROCESSES 3
#define FRAMES 40
#define STEPS 20
#define AROUND 3 /* source lines shown around a frame's line */

/* Writes "/src/orders.cpp:52", or the image. */
static void put_place(struct common_json *json, const char *file, uint32_t line, const char *image)
{
	struct ptl_bytes text = {0};

	common_text_add(&text, file ? file : image);
	if (file)
		common_text_format(&text, ":%u", line);
	common_json_string(json, "place", common_text_string(&text));
	common_bytes_free(&text);
}

/* Writes the lines around the line of a frame, which may not have run: [line number, text] each. */
static void put_excerpt(struct dump_html *html, struct common_json *json, struct dump_source_texts *texts,
			const struct dump_crash_frame *frame)
{
	const uint32_t first = frame->line > AROUND ? frame->line - AROUND : 1;
	const char *words;
	size_t size;

	common_json_array(json, "excerpt");
	for (uint32_t line = first; frame->file && frame->line && line <= frame->line + AROUND; line++) {
		if (!dump_source_line(texts, frame->file, line, &words, &size) || !dump_html_fits(&html->room, size))
			continue;
		common_json_array(json, NULL);
		common_json_u64(json, NULL, line);
		common_json_string_n(json, NULL, words, size);
		common_json_array_end(json);
	}
	common_json_array_end(json);
}

static uint64_t put_stack(struct dump_html *html, struct common_json *json, struct dump_source_texts *texts,
			  const struct dump_crash_stack *stack)
{
	uint64_t cut = 0;

	common_json_array(json, "stack");
	for (size_t i = 0; stack && i < stack->count; i++) {
		const struct dump_crash_frame *frame = &stack->frames[i];

		if (i >= FRAMES || !dump_html_fits(&html->room, strlen(frame->function) + strlen(frame->image) +
									(frame->file ? strlen(frame->file) : 0))) {
			cut++;
			continue;
		}
		common_json_object(json, NULL);
		common_json_string(json, "function", *frame->function ? frame->function : "[unknown]");
		put_place(json, frame->file, frame->line, frame->image);
		common_json_bool(json, "chosen", i == stack->place);
		if (i == stack->place)
			put_excerpt(html, json, texts, frame);
		common_json_object_end(json);
	}
	common_json_array_end(json);
	return cut + (stack ? stack->missing : 0);
}

static void put_steps(struct dump_html *html, struct common_json *json, const struct dump_crash_thread *thread)
{
	common_json_array(json, "lines");
	for (size_t i = 0; thread && i < thread->step_count; i++) {
		const struct dump_crash_step *step = &thread->steps[i];

		if (!dump_html_fits(&html->room, strlen(step->function) + strlen(step->image) +
							 (step->file ? strlen(step->file) : 0) +
							 (step->words ? strlen(step->words) : 0)))
			break;
		common_json_object(json, NULL);
		common_json_string(json, "function", *step->function ? step->function : "[unknown]");
		put_place(json, step->file ? common_base_name(step->file) : NULL, step->line, step->image);
		common_json_string(json, "words", step->words ? step->words : "");
		common_json_object_end(json);
	}
	common_json_array_end(json);
}

static void put_crash(struct dump_html *html, struct common_json *json, struct dump_crash_report *report,
		      const struct dump_crash *crash)
{
	struct ptl_bytes text = {0};
	uint64_t cut;

	dump_crash_sentence(report, crash, &text);
	common_json_object(json, NULL);
	common_json_u64(json, "process", crash->failure.process);
	common_json_string(json, "text", common_text_string(&text));
	cut = put_stack(html, json, &report->texts, dump_crash_stack(crash));
	common_json_u64(json, "frames_left_out", cut);
	put_steps(html, json, crash->thread == DUMP_CRASH_NO_INDEX ? NULL : &crash->threads[crash->thread]);
	common_json_object_end(json);
	common_bytes_free(&text);
}

int dump_html_crash(struct dump_html *html, struct dump_run *run, struct dump_html_trace *trace)
{
	struct common_json *json = &run->json_out;
	struct dump_crash_report report = {.run = &trace->path_run.run,
					   .timeline = trace->path_run.calls.timeline,
					   .symbols = trace->path_run.calls.symbols,
					   .functions = trace->path_run.calls.functions,
					   .limits = {.processes = PROCESSES, .steps = STEPS},
					   .failed_only = true};
	const int status = dump_crash_report_make(&report);

	common_json_object(json, NULL);
	common_json_array(json, "processes");
	for (size_t i = 0; status == 0 && i < report.count; i++)
		put_crash(html, json, &report, &report.list[i]);
	common_json_array_end(json);
	common_json_u64(json, "failures", report.failures.count);
	common_json_object_end(json);
	dump_crash_report_free(&report);
	return status;
}
