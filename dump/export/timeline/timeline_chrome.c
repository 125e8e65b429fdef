/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes timelines in Chrome's JSON trace event format, one object per line. */
#include <inttypes.h>
#include <string.h>

#include "common/text/json.h"
#include "common/text/text.h"
#include "dump/export/timeline/timeline.h"

/* First number of rows that are not threads; no thread has such a number. */
#define FIRST_ROW ((uint32_t)1 << 30)

/* Appends a JSON string. Names are UTF-8 without control characters. */
static void put_string(struct ptl_bytes *text, const char *words)
{
	common_text_add(text, "\"");
	for (size_t plain = strcspn(words, "\"\\");; plain = strcspn(words, "\"\\")) {
		common_write_bytes(text, words, plain);
		words += plain;
		if (!*words)
			break;
		common_text_add(text, *words == '"' ? "\\\"" : "\\\\");
		words++;
	}
	common_text_add(text, "\"");
}

/* Appends {"ph":"B","pid":1,"tid":1,"ts":12.345 */
static void put_head(struct dump_timeline_output *output, char phase, uint32_t track, uint64_t time)
{
	struct ptl_bytes *text = &output->bytes;
	const struct dump_timeline_track *row = &output->tracks[track];
	const uint64_t below = time % 1000;

	common_text_add(text, ",\n{\"ph\":\"");
	common_write_bytes(text, &phase, 1);
	common_text_add(text, "\",\"pid\":");
	common_text_decimal(text, row->pid);
	common_text_add(text, ",\"tid\":");
	common_text_decimal(text, row->tid);
	common_text_add(text, ",\"ts\":");
	common_text_decimal(text, time / 1000);
	common_text_add(text, below < 10 ? ".00" : below < 100 ? ".0" : ".");
	common_text_decimal(text, below);
}

static void put_name(struct dump_timeline_output *output, const char *name)
{
	common_text_add(&output->bytes, ",\"name\":");
	put_string(&output->bytes, name);
}

static void put_metadata(struct dump_timeline_output *output, uint32_t track, const char *what, const char *name)
{
	put_head(output, 'M', track, 0);
	put_name(output, what);
	common_text_add(&output->bytes, ",\"args\":{\"name\":");
	put_string(&output->bytes, name);
	common_text_add(&output->bytes, "}}");
}

/* ---- tracks -------------------------------------------------------------------------------------- */

static void chrome_start(struct dump_timeline_output *output)
{
	common_text_add(&output->bytes, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
					"{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"name\":\"trace\",\"args\":{}}");
}

static void process(struct dump_timeline_output *output, uint32_t track, const char *name, const char *command_line)
{
	put_metadata(output, track, "process_name", name);
	if (*command_line) {
		put_head(output, 'M', track, 0);
		put_name(output, "process_labels");
		common_text_add(&output->bytes, ",\"args\":{\"labels\":");
		put_string(&output->bytes, command_line);
		common_text_add(&output->bytes, "}}");
	}
}

static void thread(struct dump_timeline_output *output, uint32_t track, uint32_t parent, const char *name)
{
	(void)parent;
	put_metadata(output, track, "thread_name", name);
}

static void row(struct dump_timeline_output *output, uint32_t track, uint32_t parent, const char *name)
{
	if (parent)
		output->tracks[track].pid = output->tracks[parent].pid;
	output->tracks[track].tid = FIRST_ROW + track;
	put_metadata(output, track, "thread_name", name);
}

/* A counter belongs to a process, and is identified by its name. */
static void counter(struct dump_timeline_output *output, uint32_t track, uint32_t parent, const char *name)
{
	(void)name;
	if (parent)
		output->tracks[track] = output->tracks[parent];
}

static void sequence(struct dump_timeline_output *output, uint32_t track, uint64_t time)
{
	(void)output;
	(void)track;
	(void)time;
}

/* ---- events -------------------------------------------------------------------------------------- */

static void chrome_begin(struct dump_timeline_output *output, uint32_t track, uint64_t time, uint32_t name)
{
	put_head(output, 'B', track, time);
	put_name(output, output->names[name]);
	common_text_add(&output->bytes, "}");
}

static void chrome_end(struct dump_timeline_output *output, uint32_t track, uint64_t time)
{
	put_head(output, 'E', track, time);
	common_text_add(&output->bytes, "}");
}

/* Arrows join slices, so a slice without duration stands for the event. */
static void instant(struct dump_timeline_output *output, uint32_t track, uint64_t time, uint32_t name, uint64_t flow)
{
	put_head(output, flow ? 'X' : 'i', track, time);
	put_name(output, output->names[name]);
	common_text_add(&output->bytes, flow ? ",\"dur\":0,\"bind_id\":\"0x" : ",\"s\":\"t\"}");
	if (!flow)
		return;
	common_text_hex(&output->bytes, flow);
	common_text_add(&output->bytes, "\",\"flow_in\":true,\"flow_out\":true}");
}

static void chrome_count(struct dump_timeline_output *output, uint32_t track, uint64_t time, uint64_t value,
			 uint32_t name)
{
	put_head(output, 'C', track, time);
	put_name(output, output->names[name]);
	common_text_add(&output->bytes, ",\"id\":");
	common_text_decimal(&output->bytes, track);
	common_text_add(&output->bytes, ",\"args\":{\"value\":");
	common_text_decimal(&output->bytes, value);
	common_text_add(&output->bytes, "}}");
}

static void chrome_finish(struct dump_timeline_output *output, const char *left_out)
{
	common_text_add(&output->bytes, "\n]");
	if (left_out) {
		common_text_add(&output->bytes, ",\"otherData\":{\"left out\":");
		put_string(&output->bytes, left_out);
		common_text_add(&output->bytes, "}");
	}
	common_text_add(&output->bytes, "}\n");
}

const struct dump_timeline_format dump_timeline_chrome = {
	.start = chrome_start,
	.process = process,
	.thread = thread,
	.row = row,
	.counter = counter,
	.sequence = sequence,
	.begin = chrome_begin,
	.end = chrome_end,
	.instant = instant,
	.count = chrome_count,
	.finish = chrome_finish,
};
