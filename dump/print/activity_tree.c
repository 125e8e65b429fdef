/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the tree of activities. */
#include "dump/print/activity_tree.h"

#include <inttypes.h>
#include <string.h>

#include "common/error.h"
#include "common/text/guid.h"
#include "common/text/text.h"

#define NONE ANALYSIS_ACTIVITY_NONE
#define SHOWN_DEPTH 64 /* deeper pairs are not indented further */

struct printing {
	const struct analysis_activity_tree *tree;
	struct dump_run *run;
	const struct analysis_names *names;
	const struct flow_timeline *timeline;
	struct ptl_bytes text;
};

static const char *process_name(const struct printing *printing, const struct analysis_activity_pair *pair)
{
	const char *name = flow_timeline_name_at(printing->timeline, pair->pid, pair->start);

	return name ? name : "";
}

/* Appends "Provider/Task", without the suffix "/Start". */
static void add_task_name(const struct printing *printing, const struct analysis_activity_pair *pair,
			  struct ptl_bytes *text)
{
	static const char end[] = "/Start";
	const size_t size = sizeof(end) - 1;

	analysis_text_full_name(text, printing->names, &pair->descriptor, pair->schema);
	if (text->size > size && memcmp(text->data + text->size - size, end, size) == 0)
		text->size -= size;
}

static void text_pair(struct printing *printing, const struct analysis_activity_pair *pair, unsigned depth)
{
	const uint64_t start_time = ptl_trace_machine(printing->run->trace)->start_time;
	struct ptl_bytes *text = &printing->text;
	char guid[PTL_GUID_TEXT_SIZE];
	size_t before;

	text->size = 0;
	common_text_time(text, pair->start, start_time);
	common_text_add(text, " ");
	before = text->size;
	if (pair->stop)
		common_text_duration(text, pair->stop - pair->start);
	else
		common_text_add(text, "-");
	common_text_pad(text, before, 10);
	common_text_format(text, "  %*s%s", (int)(2 * (depth < SHOWN_DEPTH ? depth : SHOWN_DEPTH)), "",
			   dump_bold(printing->run));
	add_task_name(printing, pair, text);
	common_text_add(text, dump_plain(printing->run));
	common_text_add(text, "  ");
	common_text_safe(text, process_name(printing, pair));
	if (pair->pid != PTL_NO_ID)
		common_text_format(text, " (%" PRIu32 ")", pair->pid);
	if (pair->events)
		common_text_format(text, "  events=%" PRIu64, pair->events);
	common_guid_format(&pair->activity, guid);
	common_text_format(text, "  %s{%s}%s\n", dump_dim(printing->run), guid, dump_plain(printing->run));
	common_text_write(text, printing->run->out);
}

static void json_id(struct common_json *json, const char *key, uint32_t id)
{
	if (id == PTL_NO_ID)
		common_json_null(json, key);
	else
		common_json_u64(json, key, id);
}

static void json_pair(struct printing *printing, const struct analysis_activity_pair *pair, unsigned depth)
{
	const struct ptl_machine *machine = ptl_trace_machine(printing->run->trace);
	struct common_json *json = &printing->run->json_out;
	char guid[PTL_GUID_TEXT_SIZE];

	printing->text.size = 0;
	add_task_name(printing, pair, &printing->text);
	common_guid_format(&pair->activity, guid);
	common_json_object(json, NULL);
	common_json_u64(json, "depth", depth);
	common_json_string(json, "name", common_text_string(&printing->text));
	common_json_string(json, "activity", guid);
	/* Time 0 is valid here: the pair comes from an event, which has a time. */
	common_json_i64(json, "start", (int64_t)(pair->start - machine->start_time));
	if (pair->stop) {
		common_json_i64(json, "stop", (int64_t)(pair->stop - machine->start_time));
		common_json_u64(json, "duration", pair->stop - pair->start);
	} else {
		common_json_null(json, "stop");
		common_json_null(json, "duration");
	}
	json_id(json, "pid", pair->pid);
	json_id(json, "tid", pair->tid);
	common_json_string(json, "process", process_name(printing, pair));
	common_json_u64(json, "events", pair->events);
	common_json_object_end(json);
	common_json_line(json);
}

/* Returns the pair after `number` and its descendants. */
static uint32_t next_of(const struct analysis_activity_tree *tree, uint32_t number, unsigned *depth)
{
	while (number != NONE && tree->pairs[number].next == NONE) {
		number = tree->pairs[number].parent;
		--*depth;
	}
	return number == NONE ? NONE : tree->pairs[number].next;
}

int dump_activity_tree_print(const struct analysis_activity_tree *tree, struct dump_run *run,
			     const struct analysis_names *names, const struct flow_timeline *timeline)
{
	struct printing printing = {tree, run, names, timeline, {0}};
	uint32_t number = tree->count ? tree->first : NONE;
	unsigned depth = 0;
	int status = 0;

	if (tree->count && !run->options->json)
		fprintf(run->out, "%s       time ms duration    activity%s\n", dump_dim(run), dump_plain(run));
	while (!status && number != NONE) {
		const struct analysis_activity_pair *pair = &tree->pairs[number];

		if (run->options->json)
			json_pair(&printing, pair, depth);
		else
			text_pair(&printing, pair, depth);
		status = printing.text.failed ? common_fail_memory("a line", printing.text.size)
					      : dump_output_check(run);
		if (pair->first_child != NONE) {
			number = pair->first_child;
			depth++;
		} else {
			number = next_of(tree, number, &depth);
		}
	}
	common_bytes_free(&printing.text);
	return status;
}
