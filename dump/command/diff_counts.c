/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump diff: prints different counts of functions, blocks and edges as tables and JSON. */
#include <inttypes.h>

#include "analysis/difference/diff_counts.h"
#include "common/error.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "dump/command/diff.h"
#include "dump/print/table.h"

struct showing {
	struct dump_run *run;
	const struct analysis_diff *diff;
	const struct analysis_diff_counts *counts;
	unsigned changes; /* bits of changes to show; 0: all */
	struct ptl_bytes text;
};

static bool is_shown(const struct showing *showing, const struct analysis_diff_item *item)
{
	return !showing->changes || showing->changes & 1u << item->change;
}

/* ---- text ---------------------------------------------------------------------------------------- */

static void count_cell(struct dump_table *table, const struct analysis_diff_item *item, unsigned side)
{
	void (*const add)(struct ptl_bytes * text,
			  uint64_t value) = item->kind == ANALYSIS_DIFF_TIME ? common_text_duration : common_text_count;

	add(&table->text, item->least[side]);
	if (item->most[side] != item->least[side]) {
		common_text_add(&table->text, "..");
		add(&table->text, item->most[side]);
	}
	dump_cell_text(table, DUMP_STYLE_PLAIN);
}

static void change_cell(struct dump_table *table, const struct analysis_diff_item *item)
{
	const bool slower = item->change == ANALYSIS_DIFF_SLOWER;
	const bool red = slower || item->change == ANALYSIS_DIFF_NEW || item->change == ANALYSIS_DIFF_GONE;

	common_text_add(&table->text, analysis_diff_change_name(item->change));
	if (slower || item->change == ANALYSIS_DIFF_FASTER) {
		const double before = (double)(slower ? item->most[0] : item->least[0]);
		const double after = (double)(slower ? item->least[1] : item->most[1]);

		common_text_format(&table->text, " %+.0f %%", (after - before) / before * 100);
	}
	dump_cell_text(table, red ? DUMP_STYLE_RED : DUMP_STYLE_BOLD);
}

static void place_cell(struct dump_table *table, const struct showing *showing, const struct analysis_diff_item *item)
{
	const struct analysis_diff_run *run = &showing->diff->runs[item->run];
	struct flow_symbol symbol;

	if (item->kind == ANALYSIS_DIFF_FUNCTION &&
	    !flow_symbols_find(run->symbols, item->image, item->place, &symbol)) {
		common_text_add(&table->text, "no function that is known (");
		flow_symbols_image(run->symbols, item->image, &table->text);
		common_text_add(&table->text, ")");
	} else {
		analysis_diff_place(run, item->image, item->place, &table->text);
	}
	if (item->calls)
		common_text_add(&table->text, "  (calls: it was built again)");
	if (item->kind == ANALYSIS_DIFF_EDGE && item->way == ANALYSIS_DIFF_TO) {
		common_text_add(&table->text, "  to ");
		analysis_diff_place(run, item->to_image, item->to, &table->text);
	} else if (item->kind == ANALYSIS_DIFF_EDGE) {
		common_text_add(&table->text, item->way == ANALYSIS_DIFF_TAKEN ? "  taken" : "  not taken");
	}
	dump_cell_text(table, DUMP_STYLE_PLAIN);
}

/* How long before the end of the run a new or gone item was executed last. */
static void end_cell(struct dump_table *table, const struct analysis_diff_item *item)
{
	if (item->time_left != UINT64_MAX) {
		common_text_duration(&table->text, item->time_left);
	} else if (item->instructions_left != UINT64_MAX) {
		common_text_count(&table->text, item->instructions_left);
		common_text_add(&table->text, " insns");
	}
	dump_cell_text(table, DUMP_STYLE_PLAIN);
}

/* Prints "3 of 120 functions differ: 1 new, 2 more". */
static void text_sum(struct showing *showing, unsigned kind)
{
	const uint64_t *changes = showing->counts->changes[kind];
	struct ptl_bytes *text = &showing->text;
	const char *before = ": ";

	text->size = 0;
	common_text_add(text, dump_bold(showing->run));
	common_text_count(text, showing->counts->kinds[kind] - changes[ANALYSIS_DIFF_SAME]);
	common_text_add(text, " of ");
	common_text_count(text, showing->counts->kinds[kind]);
	common_text_format(text, " %ss %s%s", analysis_diff_kind_name(kind),
			   kind == ANALYSIS_DIFF_TIME ? "took another time by themselves"
			   : kind == ANALYSIS_DIFF_WORK
				   ? "executed another number of instructions by themselves (there are no times)"
				   : "differ",
			   dump_plain(showing->run));
	for (unsigned i = ANALYSIS_DIFF_SAME + 1; i < ANALYSIS_DIFF_CHANGES; i++) {
		if (!changes[i])
			continue;
		common_text_add(text, before);
		common_text_count(text, changes[i]);
		common_text_format(text, " %s", analysis_diff_change_name(i));
		before = ", ";
	}
	common_text_add(text, "\n");
	common_text_write(text, showing->run->out);
}

static int text_kind(struct showing *showing, unsigned kind, uint64_t limit)
{
	static const char *const titles[ANALYSIS_DIFF_KINDS] = {"FUNCTION", "BLOCK THAT ENDS AT", "EDGE FROM",
								"FUNCTION", "FUNCTION"};
	static const char *const units[ANALYSIS_DIFF_KINDS] = {"INSTRUCTIONS A", "A", "A", "SELF TIME A",
							       "SELF INSNS A"};
	const struct analysis_diff_counts *counts = showing->counts;
	const struct dump_column columns[] = {
		{units[kind], true}, {"B", true}, {"CHANGE", false}, {"BEFORE END", true}, {titles[kind], false}};
	struct dump_table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(columns[0])};
	uint64_t shown = 0, all = 0;
	int status;

	for (size_t i = 0; i < counts->count; i++) {
		const struct analysis_diff_item *item = &counts->items[i];

		if (item->kind != kind || !is_shown(showing, item) || (++all > limit && limit))
			continue;
		count_cell(&table, item, 0);
		count_cell(&table, item, 1);
		change_cell(&table, item);
		end_cell(&table, item);
		place_cell(&table, showing, item);
		shown++;
	}
	text_sum(showing, kind);
	status = dump_table_print(&table, showing->run);
	if (all > shown)
		fprintf(showing->run->out, "... and %" PRIu64 " more (--limit N shows more)\n", all - shown);
	return status;
}

static int show_text(struct showing *showing, uint64_t limit)
{
	int status = 0;

	for (unsigned kind = 0; !status && kind < ANALYSIS_DIFF_KINDS; kind++) {
		if (kind >= ANALYSIS_DIFF_TIME && !showing->counts->kinds[kind])
			continue;
		if (kind)
			fputc('\n', showing->run->out);
		status = text_kind(showing, kind, limit);
	}
	return status;
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static void json_side(struct common_json *json, const char *key, const struct analysis_diff_item *item, unsigned side)
{
	common_json_object(json, key);
	common_json_u64(json, "least", item->least[side]);
	common_json_u64(json, "most", item->most[side]);
	common_json_object_end(json);
}

static void json_item(struct showing *showing, const struct analysis_diff_item *item)
{
	static const char *const ways[] = {"taken", "not taken", "to"};
	const struct analysis_diff_run *run = &showing->diff->runs[item->run];
	struct common_json *json = &showing->run->json_out;

	common_json_object(json, NULL);
	common_json_string(json, "type", analysis_diff_kind_name(item->kind));
	common_json_string(json, "change", analysis_diff_change_name(item->change));
	if (item->kind == ANALYSIS_DIFF_TIME)
		common_json_string(json, "unit", "nanoseconds");
	else if (item->kind == ANALYSIS_DIFF_FUNCTION || item->kind == ANALYSIS_DIFF_WORK)
		common_json_string(json, "unit", item->calls ? "calls" : "instructions");
	json_side(json, "a", item, 0);
	json_side(json, "b", item, 1);
	if (item->time_left != UINT64_MAX)
		common_json_u64(json, "time_left", item->time_left);
	if (item->instructions_left != UINT64_MAX)
		common_json_u64(json, "instructions_left", item->instructions_left);
	analysis_diff_json_place(run, item->image, item->place, json, &showing->text);
	if (item->kind == ANALYSIS_DIFF_EDGE)
		common_json_string(json, "way", ways[item->way]);
	if (item->kind == ANALYSIS_DIFF_EDGE && item->way == ANALYSIS_DIFF_TO) {
		common_json_object(json, "to");
		analysis_diff_json_place(run, item->to_image, item->to, json, &showing->text);
		common_json_object_end(json);
	}
	common_json_object_end(json);
	common_json_line(json);
}

/* Prints the first line, which is the only line for equal sides: compared and changed items by kind. */
static void json_summary(const struct showing *showing)
{
	static const char *const kinds[ANALYSIS_DIFF_KINDS] = {"functions", "blocks", "edges", "times", "work"};
	const struct analysis_diff_counts *counts = showing->counts;
	struct common_json *json = &showing->run->json_out;

	common_json_object(json, NULL);
	common_json_string(json, "type", "summary");
	common_json_bool(json, "equal", !counts->count);
	for (unsigned kind = 0; kind < ANALYSIS_DIFF_KINDS; kind++) {
		if (kind >= ANALYSIS_DIFF_TIME && !counts->kinds[kind])
			continue;
		common_json_object(json, kinds[kind]);
		common_json_u64(json, "compared", counts->kinds[kind]);
		for (unsigned i = ANALYSIS_DIFF_SAME; i < ANALYSIS_DIFF_CHANGES; i++)
			if (i >= ANALYSIS_DIFF_SLOWER ? kind >= ANALYSIS_DIFF_TIME
						      : kind < ANALYSIS_DIFF_TIME || i == ANALYSIS_DIFF_SAME)
				common_json_u64(json, analysis_diff_change_name(i), counts->changes[kind][i]);
		common_json_object_end(json);
	}
	common_json_object_end(json);
	common_json_line(json);
}

static int show_json(struct showing *showing)
{
	int status = 0;

	json_summary(showing);

	for (size_t i = 0; !status && i < showing->counts->count; i++) {
		if (!is_shown(showing, &showing->counts->items[i]))
			continue;
		json_item(showing, &showing->counts->items[i]);
		status = dump_output_check(showing->run);
	}
	return status;
}

/* Whether a difference of a wanted change was found. */
static bool has_finding(const struct showing *showing)
{
	for (size_t i = 0; i < showing->counts->count; i++)
		if (is_shown(showing, &showing->counts->items[i]))
			return true;
	return false;
}

int dump_diff_show_counts(struct dump_run *run, struct analysis_diff *diff, unsigned changes, uint64_t limit)
{
	struct analysis_diff_counts counts;
	struct showing showing = {.run = run, .diff = diff, .counts = &counts, .changes = changes};
	int status = analysis_diff_count(diff, &counts);

	common_progress_end();
	if (!status)
		status = run->options->json ? show_json(&showing) : show_text(&showing, limit);
	if (!status && showing.text.failed)
		status = common_fail_memory("a line", showing.text.size);
	if (!status && has_finding(&showing))
		status = COMMON_EXIT_FINDING;
	common_bytes_free(&showing.text);
	analysis_diff_counts_free(&counts);
	return status;
}
