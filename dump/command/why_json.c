/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON output of ptl-dump why, and what both outputs share. */
#include <string.h>

#include "common/text/quote.h"
#include "common/text/text.h"
#include "dump/command/why_print.h"

/* A branch that tells slow calls from others ran in so much more of them, as a share. */
#define LEAST_LEAD 0.05

static const char *const side_names[] = {[DUMP_WHY_SLOW] = "slow", [DUMP_WHY_OTHER] = "other"};

/* ---- shared by both outputs ---------------------------------------------------------------------- */

/* Appends a word for a shell, and safe for a terminal. */
static void add_word(const char *word, struct ptl_bytes *text)
{
	struct ptl_bytes quoted = {0};

	common_quote_word(&quoted, word);
	common_text_safe(text, common_text_string(&quoted));
	common_bytes_free(&quoted);
}

/* Appends the given options that select flow: the numbers of calls refer to the selected flow. */
static void add_selection(const struct dump_options *options, struct ptl_bytes *text)
{
	static const char *const names[] = {"--pid=", "--process=", "--tid=", "--cpu=", "--time=", "--last="};
	const struct ptl_bytes *given = &options->given;

	for (size_t at = 0; at < given->size; at += strlen((const char *)given->data + at) + 1)
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (!strncmp((const char *)given->data + at, names[i], strlen(names[i]))) {
				common_text_add(text, " ");
				add_word((const char *)given->data + at, text);
			}
}

void dump_why_command(const struct dump_why *why, const struct analysis_set_call *call, struct ptl_bytes *text)
{
	const struct dump_run *run = why->run;
	struct ptl_bytes words = {0};

	common_text_format(&words, "%s: number == %llu", run->operand, (unsigned long long)call->number);
	common_text_add(text, "ptl-dump calls --calls ");
	add_word(common_text_string(&words), text);
	add_selection(run->options, text);
	common_text_add(text, " ");
	add_word(run->path, text);
	common_bytes_free(&words);
}

bool dump_why_line_of(const struct dump_why *why, uint32_t number, const char **file, uint32_t *line)
{
	const struct analysis_function *function = analysis_function(why->calls->functions, number);
	const struct flow_timeline_image *image;

	if (function->place == FLOW_NONE)
		return false;
	image = flow_timeline_image(why->calls->timeline, function->place);
	/* The difference of the two address spaces is the same for all addresses of an image. */
	return flow_sources_find(why->sources, function->place, function->address - flow_image_address(image, 0), file,
				 line);
}

bool dump_why_tells(const struct dump_why *why, const struct dump_why_place *place)
{
	return dump_why_excess(why, place->sums[DUMP_WHY_SLOW].present, place->sums[DUMP_WHY_OTHER].present) >=
	       LEAST_LEAD;
}

/* ---- members ------------------------------------------------------------------------------------- */

static void json_node_sums(struct common_json *json, const struct dump_why_node_sum *sums)
{
	for (int side = 0; side < DUMP_WHY_SIDES; side++) {
		common_json_object(json, side_names[side]);
		common_json_u64(json, "calls", sums[side].calls);
		common_json_u64(json, "time", sums[side].time);
		common_json_u64(json, "kernel", sums[side].absence.kernel);
		common_json_u64(json, "off_cpu", sums[side].absence.off);
		common_json_u64(json, "gap", sums[side].absence.gap);
		common_json_u64(json, "instructions", sums[side].instructions);
		common_json_object_end(json);
	}
}

static void json_calls(const struct dump_why *why, struct common_json *json)
{
	struct ptl_bytes text = {0};

	analysis_matches_text(&why->set.matches, &text);
	common_json_string(json, "function", common_text_string(&text));
	common_json_string(json, "unit", why->by_instructions ? "instructions" : "nanoseconds");
	common_json_u64(json, "slow_calls", why->counts[DUMP_WHY_SLOW]);
	common_json_u64(json, "other_calls", why->counts[DUMP_WHY_OTHER]);
	common_json_u64(json, "slow_from", why->least_slow);
	common_json_u64(json, "not_compared", why->set.incomplete);
	json_node_sums(json, why->nodes[0].sums);
	for (int side = 0; side < DUMP_WHY_SIDES; side++)
		if (why->all[side].cycles)
			common_json_double(json, side ? "ipc_other" : "ipc_slow",
					   (double)why->all[side].cycle_instructions / (double)why->all[side].cycles);
	common_json_array(json, "examples");
	for (int side = 0; side < DUMP_WHY_SIDES; side++) {
		const struct analysis_set_call *call = &why->set.calls[why->examples[side]];

		text.size = 0;
		dump_why_command(why, call, &text);
		common_json_object(json, NULL);
		common_json_string(json, "side", side_names[side]);
		common_json_u64(json, "number", call->number);
		dump_json_time(why->run, "time", call->start);
		common_json_u64(json, "duration", call->wall);
		common_json_u64(json, "instructions", call->instructions);
		common_json_string(json, "command", common_text_string(&text));
		common_json_object_end(json);
	}
	common_json_array_end(json);
	common_bytes_free(&text);
}

static void json_path(const struct dump_why *why, struct common_json *json, uint32_t node)
{
	uint32_t path[128];
	size_t count = 0;

	common_json_array(json, "path");
	for (; node && count < sizeof(path) / sizeof(path[0]); node = why->nodes[node].parent)
		path[count++] = node;
	while (count) {
		struct ptl_bytes text = {0};

		analysis_function_text(analysis_function(why->calls->functions, why->nodes[path[--count]].function),
				       &text);
		common_json_string(json, NULL, common_text_string(&text));
		common_bytes_free(&text);
	}
	common_json_array_end(json);
}

static void json_functions(const struct dump_why *why, struct common_json *json, uint64_t limit)
{
	common_json_array(json, "functions");
	for (size_t i = 0; i < why->function_count && i < limit; i++) {
		const struct dump_why_function *row = &why->functions[i];

		common_json_object(json, NULL);
		analysis_function_json(json, analysis_function(why->calls->functions, row->function));
		json_path(why, json, row->node);
		json_node_sums(json, row->sums);
		common_json_object(json, "self");
		json_node_sums(json, row->own);
		common_json_object_end(json);
		common_json_object_end(json);
	}
	common_json_array_end(json);
}

static void json_place(const struct dump_why *why, struct common_json *json, uint32_t image, uint64_t address)
{
	struct ptl_bytes text = {0};
	const char *file = NULL;
	uint32_t line = 0;

	flow_symbols_image(why->calls->symbols, image, &text);
	common_json_string(json, "image", common_text_string(&text));
	text.size = 0;
	flow_symbols_symbol(why->calls->symbols, image, address, &text);
	common_json_string(json, "symbol", common_text_string(&text));
	if (flow_sources_find(why->sources, image, address, &file, &line)) {
		common_json_string(json, "file", file);
		common_json_u64(json, "line", line);
	}
	common_bytes_free(&text);
}

static void json_place_sums(struct common_json *json, const struct dump_why_place *place, bool times)
{
	for (int side = 0; side < DUMP_WHY_SIDES; side++) {
		const struct dump_why_place_sum *sum = &place->sums[side];

		common_json_object(json, side_names[side]);
		common_json_u64(json, "calls", sum->present);
		common_json_u64(json, place->kind == DUMP_WHY_BRANCH ? "count" : "instructions", sum->count);
		if (sum->cycles > 0) {
			common_json_u64(json, "cycles", (uint64_t)(sum->cycles + 0.5));
			common_json_u64(json, "cycle_instructions", sum->cycle_instructions);
		}
		if (times) {
			common_json_u64(json, "time", (uint64_t)(sum->time + 0.5));
			common_json_u64(json, "time_least", sum->least);
			common_json_u64(json, "time_most", sum->most);
		}
		common_json_object_end(json);
	}
}

static void json_branches(const struct dump_why *why, struct common_json *json, uint64_t limit)
{
	static const char *const ways[] = {
		[DUMP_WHY_TAKEN] = "taken", [DUMP_WHY_NOT_TAKEN] = "not-taken", [DUMP_WHY_TO] = "to"};

	common_json_array(json, "branches");
	for (size_t i = 0; i < why->branch_count && i < limit && dump_why_tells(why, &why->branches[i]); i++) {
		const struct dump_why_place *branch = &why->branches[i];

		common_json_object(json, NULL);
		json_place(why, json, branch->image, branch->address);
		common_json_string(json, "way", ways[branch->way]);
		if (branch->way == DUMP_WHY_TO) {
			common_json_object(json, "to");
			json_place(why, json, branch->target_image, branch->target);
			common_json_object_end(json);
		}
		json_place_sums(json, branch, false);
		common_json_object_end(json);
	}
	common_json_array_end(json);
}

static void json_lines(const struct dump_why *why, struct common_json *json, uint64_t limit)
{
	common_json_array(json, "lines");
	for (size_t i = 0; i < why->line_count && i < limit; i++) {
		common_json_object(json, NULL);
		json_place(why, json, why->lines[i].image, why->lines[i].address);
		json_place_sums(json, &why->lines[i], why->has_line_times);
		common_json_object_end(json);
	}
	common_json_array_end(json);
}

static void json_events(const struct dump_why *why, struct common_json *json, uint64_t limit)
{
	struct ptl_bytes text = {0};

	common_json_array(json, "events");
	for (size_t i = 0; i < why->event_count && i < limit; i++) {
		const struct dump_why_event *event = &why->events[i];

		text.size = 0;
		analysis_text_full_name(&text, &why->names, &event->descriptor, event->schema);
		common_json_object(json, NULL);
		common_json_string(json, "event", common_text_string(&text));
		for (int side = 0; side < DUMP_WHY_SIDES; side++) {
			common_json_object(json, side_names[side]);
			common_json_u64(json, "calls", event->present[side]);
			common_json_u64(json, "count", event->count[side]);
			common_json_object_end(json);
		}
		common_json_object_end(json);
	}
	common_json_array_end(json);
	common_bytes_free(&text);
}

static void json_values(const struct dump_why *why, struct common_json *json, uint64_t limit)
{
	struct ptl_bytes text = {0};

	common_json_array(json, "values");
	for (size_t i = 0; i < why->value_count && i < limit; i++) {
		const struct dump_why_value *value = &why->values[i];

		text.size = 0;
		analysis_text_full_name(&text, &why->names, &value->descriptor, value->schema);
		common_json_object(json, NULL);
		common_json_string(json, "event", common_text_string(&text));
		common_json_string(json, "field", value->field->name);
		common_json_string(json, "value", value->text);
		for (int side = 0; side < DUMP_WHY_SIDES; side++) {
			common_json_object(json, side_names[side]);
			common_json_u64(json, "calls", value->present[side]);
			common_json_object_end(json);
		}
		common_json_object_end(json);
	}
	common_json_array_end(json);
	common_bytes_free(&text);
}

int dump_why_json(const struct dump_why *why, uint64_t limit)
{
	struct common_json *json = &why->run->json_out;

	common_json_object(json, NULL);
	json_calls(why, json);
	json_path(why, json, dump_why_path(why));
	json_functions(why, json, limit);
	json_branches(why, json, limit);
	json_lines(why, json, limit);
	json_events(why, json, limit);
	json_values(why, json, limit);
	common_json_object_end(json);
	common_json_line(json);
	return 0;
}
