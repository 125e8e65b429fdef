/* SPDX-License-Identifier: BSD-2-Clause */
/* Pairs Start and Stop events of activities, and prints the tree of pairs. */
#include "dump/event/activity_tree.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/guid.h"
#include "common/text/text.h"
#include "common/vector.h"

#define NONE DUMP_ACTIVITY_NONE
#define SHOWN_DEPTH 64 /* deeper pairs are not indented further */

void dump_activity_tree_free(struct dump_activity_tree *tree)
{
	common_byte_map_free(&tree->open);
	free(tree->pairs);
	*tree = (struct dump_activity_tree){0};
}

/* ---- pairs --------------------------------------------------------------------------------------- */

static uint32_t open_in(const struct dump_activity_tree *tree, const struct ptl_guid *activity)
{
	const uint64_t *known = common_byte_map_get(&tree->open, activity->bytes, sizeof(activity->bytes));

	return known ? (uint32_t)*known : NONE;
}

static int set_open(struct dump_activity_tree *tree, const struct ptl_guid *activity, uint32_t pair)
{
	return common_byte_map_put(&tree->open, activity->bytes, sizeof(activity->bytes), pair);
}

static void join_activity(struct dump_activity_tree *tree, uint32_t child)
{
	const uint32_t parent = tree->pairs[child].parent;
	uint32_t *first = parent == NONE ? &tree->first : &tree->pairs[parent].first_child;
	uint32_t *last = parent == NONE ? &tree->last : &tree->pairs[parent].last_child;

	if (*first == NONE)
		*first = child;
	else
		tree->pairs[*last].next = child;
	*last = child;
}

static int start_activity(struct dump_activity_tree *tree, const struct ptl_event *event,
			  const struct ptl_schema *schema)
{
	const uint32_t number = (uint32_t)tree->count, under = open_in(tree, &event->activity);
	struct dump_activity_pair *pair;

	if (tree->count >= NONE || !common_vector_room(&tree->pairs, tree->count, sizeof(*pair)))
		return common_fail_memory("activities", tree->count * sizeof(*pair));
	if (!tree->count)
		tree->first = tree->last = NONE;
	pair = &tree->pairs[tree->count++];
	*pair = (struct dump_activity_pair){
		.descriptor = event->descriptor,
		.schema = schema,
		.activity = event->activity,
		.start = event->time,
		.pid = event->pid,
		.tid = event->tid,
		.parent = under,
		.first_child = NONE,
		.last_child = NONE,
		.next = NONE,
		.under = under,
	};
	if (under == NONE && (event->flags & PTL_EVENT_HAS_RELATED))
		pair->parent = open_in(tree, &event->related);
	join_activity(tree, number);
	return set_open(tree, &event->activity, number);
}

static bool is_stop_of(const struct dump_activity_pair *pair, const struct ptl_descriptor *descriptor)
{
	return pair->descriptor.task == descriptor->task &&
	       common_guid_equal(&pair->descriptor.provider, &descriptor->provider);
}

/*
 * Closes the innermost matching pair. Inner pairs that are still open stay without a stop: their Stop event was lost,
 * or a filter of the recording removed it.
 */
static int stop_activity(struct dump_activity_tree *tree, const struct ptl_event *event)
{
	uint32_t pair = open_in(tree, &event->activity);

	while (pair != NONE && !is_stop_of(&tree->pairs[pair], &event->descriptor))
		pair = tree->pairs[pair].under;
	if (pair == NONE) {
		tree->stray++;
		return 0;
	}
	tree->pairs[pair].stop = event->time;
	return set_open(tree, &event->activity, tree->pairs[pair].under);
}

int dump_activity_tree_add(struct dump_activity_tree *tree, const struct ptl_event *event,
			   const struct ptl_schema *schema)
{
	uint32_t pair;

	if (!(event->flags & PTL_EVENT_HAS_ACTIVITY))
		return 0;
	if (event->descriptor.opcode == PTL_OPCODE_START)
		return start_activity(tree, event, schema);
	if (event->descriptor.opcode == PTL_OPCODE_STOP)
		return stop_activity(tree, event);
	pair = open_in(tree, &event->activity);
	if (pair != NONE)
		tree->pairs[pair].events++;
	return 0;
}

/* ---- output -------------------------------------------------------------------------------------- */

struct printing {
	const struct dump_activity_tree *tree;
	struct dump_session *session;
	const struct dump_names *names;
	const struct flow_timeline *timeline;
	struct ptl_bytes text;
};

static const char *process_name(const struct printing *printing, const struct dump_activity_pair *pair)
{
	const uint32_t process = pair->pid == PTL_NO_ID
					 ? FLOW_NONE
					 : flow_timeline_process_at(printing->timeline, pair->pid, pair->start);

	return process == FLOW_NONE ? "" : flow_timeline_process(printing->timeline, process)->name;
}

/* Appends "Provider/Task", without the suffix "/Start". */
static void add_task_name(const struct printing *printing, const struct dump_activity_pair *pair,
			  struct ptl_bytes *text)
{
	static const char end[] = "/Start";
	const size_t size = sizeof(end) - 1;

	dump_text_full_name(text, printing->names, &pair->descriptor, pair->schema);
	if (text->size > size && memcmp(text->data + text->size - size, end, size) == 0)
		text->size -= size;
}

static void text_pair(struct printing *printing, const struct dump_activity_pair *pair, unsigned depth)
{
	const uint64_t start_time = ptl_trace_machine(printing->session->trace)->start_time;
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
			   dump_bold(printing->session));
	add_task_name(printing, pair, text);
	common_text_add(text, dump_plain(printing->session));
	common_text_add(text, "  ");
	common_text_safe(text, process_name(printing, pair));
	if (pair->pid != PTL_NO_ID)
		common_text_format(text, " (%" PRIu32 ")", pair->pid);
	if (pair->events)
		common_text_format(text, "  events=%" PRIu64, pair->events);
	common_guid_format(&pair->activity, guid);
	common_text_format(text, "  %s{%s}%s\n", dump_dim(printing->session), guid, dump_plain(printing->session));
	common_text_write(text, printing->session->out);
}

static void json_id(struct common_json *json, const char *key, uint32_t id)
{
	if (id == PTL_NO_ID)
		common_json_null(json, key);
	else
		common_json_u64(json, key, id);
}

static void json_pair(struct printing *printing, const struct dump_activity_pair *pair, unsigned depth)
{
	const struct ptl_machine *machine = ptl_trace_machine(printing->session->trace);
	struct common_json *json = &printing->session->json_out;
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
static uint32_t next_of(const struct dump_activity_tree *tree, uint32_t number, unsigned *depth)
{
	while (number != NONE && tree->pairs[number].next == NONE) {
		number = tree->pairs[number].parent;
		--*depth;
	}
	return number == NONE ? NONE : tree->pairs[number].next;
}

int dump_activity_tree_print(const struct dump_activity_tree *tree, struct dump_session *session,
			     const struct dump_names *names, const struct flow_timeline *timeline)
{
	struct printing printing = {tree, session, names, timeline, {0}};
	uint32_t number = tree->count ? tree->first : NONE;
	unsigned depth = 0;
	int status = 0;

	if (tree->count && !session->options->json)
		fprintf(session->out, "%s       time ms duration    activity%s\n", dump_dim(session),
			dump_plain(session));
	while (!status && number != NONE) {
		const struct dump_activity_pair *pair = &tree->pairs[number];

		if (session->options->json)
			json_pair(&printing, pair, depth);
		else
			text_pair(&printing, pair, depth);
		status = printing.text.failed ? common_fail_memory("a line", printing.text.size)
					      : dump_output_check(session);
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
