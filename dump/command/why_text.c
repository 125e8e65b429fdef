/* SPDX-License-Identifier: BSD-2-Clause */
/* Text output of ptl-dump why: five lines that answer, then tables. */
#include <inttypes.h>
#include <string.h>

#include "common/text/text.h"
#include "dump/command/why_print.h"
#include "dump/print/source_text.h"
#include "dump/print/table.h"

#define PATH_MAX_SHOWN 8 /* functions of a path */
#define WORDS_MAX 60     /* columns of a source line */

struct printing {
	const struct dump_why *why;
	struct dump_run *run;
	struct dump_source_texts texts;
	uint64_t limit;
};

/* ---- values -------------------------------------------------------------------------------------- */

static uint64_t rounded(double value)
{
	return (uint64_t)((value < 0 ? -value : value) + 0.5);
}

/* Appends "+1.2 ms" or "-1.2 ms". */
static void add_time(double nanoseconds, struct ptl_bytes *text)
{
	common_text_add(text, nanoseconds < 0 ? "-" : "+");
	common_text_duration(text, rounded(nanoseconds));
}

static void add_count(double count, struct ptl_bytes *text)
{
	common_text_add(text, count < 0 ? "-" : "+");
	common_text_count(text, rounded(count));
}

static void add_measure(const struct dump_why *why, double value, struct ptl_bytes *text)
{
	if (why->by_instructions) {
		common_text_count(text, rounded(value));
		common_text_add(text, " instructions");
	} else {
		common_text_duration(text, rounded(value));
	}
}

/* A cell with a mean for each call: "0", "0.25", "1", "1,234". */
static void mean_cell(struct dump_table *table, double mean)
{
	if (mean >= 100 || mean == (double)(uint64_t)mean)
		common_text_count(&table->text, rounded(mean));
	else
		common_text_format(&table->text, "%.2f", mean);
	dump_cell_text(table, DUMP_STYLE_PLAIN);
}

static void time_cell(struct dump_table *table, double nanoseconds)
{
	if (rounded(nanoseconds))
		add_time(nanoseconds, &table->text);
	dump_cell_text(table, DUMP_STYLE_PLAIN);
}

static void count_cell(struct dump_table *table, double count)
{
	if (rounded(count))
		add_count(count, &table->text);
	dump_cell_text(table, DUMP_STYLE_PLAIN);
}

/* Appends the file's name and line: "table.c:88". */
static void add_line(const char *file, uint32_t line, struct ptl_bytes *text)
{
	common_text_safe(text, common_base_name(file));
	common_text_format(text, ":%" PRIu32, line);
}

/* Whether the excess of a row is a relevant share of the whole excess. */
#define LEAST_SHARE 0.001

static bool matters(double excess, double whole)
{
	return excess > 0 && excess >= whole * LEAST_SHARE;
}

/* Appends "table.c:88", or "find+0x1f (server)" without source lines. */
static void add_address(const struct dump_why *why, uint32_t image, uint64_t address, struct ptl_bytes *text)
{
	const char *file;
	uint32_t line;

	if (flow_sources_find(why->sources, image, address, &file, &line))
		add_line(file, line, text);
	else
		flow_symbols_text(why->calls->symbols, image, address, text);
}

static void add_function_of(const struct dump_why *why, uint32_t image, uint64_t address, struct ptl_bytes *text)
{
	struct flow_symbol symbol;

	if (!flow_symbols_find(why->calls->symbols, image, address, &symbol))
		return;
	common_text_add(text, " in ");
	analysis_function_add_name(why->calls->symbols, symbol.name, strlen(symbol.name), flow_symbols_shown_name,
				   text);
}

/* Appends the words of a source line, if the file is there, without indentation. */
static void add_words(struct printing *printing, const char *file, uint32_t line, const char *before,
		      struct ptl_bytes *text)
{
	const char *words;
	size_t size;

	if (!dump_source_line(&printing->texts, file, line, &words, &size))
		return;
	while (size && (*words == ' ' || *words == '\t')) {
		words++;
		size--;
	}
	common_text_add(text, before);
	common_text_safe_n(text, words, size < WORDS_MAX ? size : WORDS_MAX);
}

static bool has_cycles(const struct dump_why *why)
{
	return why->all[DUMP_WHY_SLOW].cycles > 0 && why->all[DUMP_WHY_OTHER].cycles > 0;
}

/* A packet may count cycles of code before or behind it: the rate of few instructions means nothing. */
#define CYCLES_LEAST 1000

/* Instructions per core cycle. */
static double cycle_rate(const struct dump_why_place_sum *sum)
{
	return sum->cycles > 0 ? (double)sum->cycle_instructions / sum->cycles : 0;
}

/* ---- the answer ---------------------------------------------------------------------------------- */

static void calls_line(const struct printing *printing, struct ptl_bytes *text)
{
	const struct dump_why *why = printing->why;
	const struct dump_why_node_sum *sums = why->nodes[0].sums;
	const bool by_time = !why->by_instructions;

	common_text_add(text, dump_bold(printing->run));
	analysis_matches_text(&why->set.matches, text);
	common_text_add(text, dump_plain(printing->run));
	common_text_add(text, ": ");
	common_text_count(text, why->counts[DUMP_WHY_SLOW]);
	common_text_add(text, " of ");
	common_text_count(text, why->set.count);
	common_text_add(text, why->stand_out ? " calls stand out as slow (from " : " calls are slow (from ");
	add_measure(why, (double)why->least_slow, text);
	common_text_add(text, "): mean ");
	for (int side = 0; side < DUMP_WHY_SIDES; side++) {
		add_measure(why, dump_why_mean(why, by_time ? sums[side].time : sums[side].instructions, side), text);
		common_text_add(text, side ? "" : "; the others ");
	}
	if (has_cycles(why))
		common_text_format(text, "; IPC %.2f, the others %.2f", cycle_rate(&why->all[DUMP_WHY_SLOW]),
				   cycle_rate(&why->all[DUMP_WHY_OTHER]));
	common_text_add(text, "\n");
}

/* Appends the functions of a path. Of a long path, appends the last PATH_MAX_SHOWN functions. */
static void add_path(const struct dump_why *why, uint32_t node, struct ptl_bytes *text)
{
	uint32_t path[PATH_MAX_SHOWN];
	size_t count = 0;
	uint32_t at = node;

	for (; at && count < PATH_MAX_SHOWN; at = why->nodes[at].parent)
		path[count++] = at;
	analysis_matches_text(&why->set.matches, text);
	if (at)
		common_text_add(text, " > ...");
	while (count) {
		const struct dump_why_node *called = &why->nodes[path[--count]];
		const char *file;
		uint32_t line;

		common_text_add(text, " > ");
		analysis_function_text(analysis_function(why->calls->functions, called->function), text);
		/* The call is before its return address. */
		if (called->site &&
		    flow_sources_find(why->sources, called->site_image, called->site - 1, &file, &line)) {
			common_text_add(text, " at ");
			add_line(file, line, text);
		}
	}
}

/* Appends the part of the excess that is not running code: "of it 1.2 ms in the kernel". */
static void add_waiting(const struct dump_why *why, const struct dump_why_node *node, struct ptl_bytes *text)
{
	const struct analysis_absence *slow = &node->sums[DUMP_WHY_SLOW].absence;
	const struct analysis_absence *other = &node->sums[DUMP_WHY_OTHER].absence;
	const struct {
		const char *where;
		double excess;
	} parts[] = {{"in the kernel", dump_why_excess(why, slow->kernel, other->kernel)},
		     {"switched out", dump_why_excess(why, slow->off, other->off)},
		     {"in gaps", dump_why_excess(why, slow->gap, other->gap)}};
	const double whole = dump_why_node_excess(why, node->sums);

	for (size_t i = 0; !why->by_instructions && i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].excess > whole / 20) {
			common_text_add(text, ", ");
			common_text_duration(text, rounded(parts[i].excess));
			common_text_add(text, " of it ");
			common_text_add(text, parts[i].where);
		}
}

static void path_line(const struct printing *printing, struct ptl_bytes *text)
{
	const struct dump_why *why = printing->why;
	const uint32_t end = dump_why_path(why);
	const double whole = dump_why_node_excess(why, why->nodes[0].sums);
	const double part = dump_why_node_excess(why, why->nodes[end].sums);
	const char *file;
	uint32_t line;

	common_text_add(text, "  ");
	add_measure(why, whole, text);
	common_text_add(text, " more: ");
	common_text_share(text, rounded(part), rounded(whole));
	common_text_add(text, " in ");
	add_path(why, end, text);
	/* A call's place says more than the beginning of the function. */
	if (!why->nodes[end].site && dump_why_line_of(why, why->nodes[end].function, &file, &line)) {
		common_text_add(text, " (");
		add_line(file, line, text);
		common_text_add(text, ")");
	}
	add_waiting(why, &why->nodes[end], text);
	common_text_add(text, "\n");
}

static double line_excess(const struct dump_why *why, const struct dump_why_place *line, bool by_time)
{
	const struct dump_why_place_sum *slow = &line->sums[DUMP_WHY_SLOW], *other = &line->sums[DUMP_WHY_OTHER];

	return by_time ? dump_why_excess(why, slow->time, other->time)
		       : dump_why_excess(why, slow->count, other->count);
}

/* The excess of a slow call, of which lines have shares. */
static double whole_excess(const struct dump_why *why, bool by_time)
{
	const struct dump_why_node_sum *slow = &why->nodes[0].sums[DUMP_WHY_SLOW];
	const struct dump_why_node_sum *other = &why->nodes[0].sums[DUMP_WHY_OTHER];

	return by_time ? dump_why_excess(why, slow->time, other->time)
		       : dump_why_excess(why, slow->instructions, other->instructions);
}

/* Appends "line table.c:88 in find", or "block find+0x1f (server)". */
static void add_line_place(const struct dump_why *why, const struct dump_why_place *line, bool with_kind,
			   struct ptl_bytes *text)
{
	if (line->kind == DUMP_WHY_BLOCK) {
		common_text_add(text, with_kind ? "block " : "");
		flow_symbols_text(why->calls->symbols, line->image, line->address, text);
		return;
	}
	common_text_add(text, with_kind ? "line " : "");
	add_line(line->file, line->line, text);
	add_function_of(why, line->image, line->address, text);
}

static void best_line(struct printing *printing, struct ptl_bytes *text)
{
	const struct dump_why *why = printing->why;
	const struct dump_why_place *line = why->lines;
	const bool by_time = why->has_line_times && !why->by_instructions;

	if (!why->line_count || !matters(line_excess(why, line, by_time), whole_excess(why, by_time)))
		return;
	common_text_add(text, "  ");
	add_line_place(why, line, true, text);
	common_text_add(text, ": ");
	if (by_time)
		add_time(line_excess(why, line, true), text);
	else
		add_count(line_excess(why, line, false), text);
	common_text_add(text, by_time ? "" : " instructions");
	if (line->kind == DUMP_WHY_LINE)
		add_words(printing, line->file, line->line, "    ", text);
	common_text_add(text, "\n");
}

static void add_way(const struct dump_why *why, const struct dump_why_place *branch, struct ptl_bytes *text)
{
	common_text_add(text, branch->way == DUMP_WHY_TO      ? " goes to "
			      : branch->way == DUMP_WHY_TAKEN ? " is taken"
							      : " is not taken");
	if (branch->way == DUMP_WHY_TO)
		flow_symbols_symbol(why->calls->symbols, branch->target_image, branch->target, text);
}

static void add_of(const struct dump_why *why, uint64_t present, enum dump_why_side side, struct ptl_bytes *text)
{
	common_text_count(text, present);
	common_text_add(text, " of ");
	common_text_count(text, why->counts[side]);
}

static void best_branch(struct printing *printing, struct ptl_bytes *text)
{
	const struct dump_why *why = printing->why;
	const struct dump_why_place *branch = why->branches;
	const char *file;
	uint32_t line;

	if (!why->branch_count || !dump_why_tells(why, branch))
		return;
	common_text_add(text, "  branch ");
	add_address(why, branch->image, branch->address, text);
	add_function_of(why, branch->image, branch->address, text);
	add_way(why, branch, text);
	common_text_add(text, " in ");
	add_of(why, branch->sums[DUMP_WHY_SLOW].present, DUMP_WHY_SLOW, text);
	common_text_add(text, " slow calls, in ");
	add_of(why, branch->sums[DUMP_WHY_OTHER].present, DUMP_WHY_OTHER, text);
	common_text_add(text, " others");
	if (flow_sources_find(why->sources, branch->image, branch->address, &file, &line))
		add_words(printing, file, line, "    ", text);
	common_text_add(text, "\n");
}

/* "PTL-Values/handle kind=3" */
static void add_value(const struct dump_why *why, const struct dump_why_value *value, struct ptl_bytes *text)
{
	analysis_text_full_name(text, &why->names, &value->descriptor, value->schema);
	common_text_add(text, " ");
	common_text_safe(text, value->field->name);
	common_text_add(text, "=");
	common_text_add(text, value->text);
}

/* The value with the largest difference of shares, if the difference is half of all calls or more. */
static void best_value(const struct printing *printing, struct ptl_bytes *text)
{
	const struct dump_why *why = printing->why;
	const struct dump_why_value *value = why->values;

	if (!why->value_count || dump_why_value_difference(why, value) < 0.5)
		return;
	common_text_add(text, "  value ");
	add_value(why, value, text);
	common_text_add(text, " in ");
	add_of(why, value->present[DUMP_WHY_SLOW], DUMP_WHY_SLOW, text);
	common_text_add(text, " slow calls, in ");
	add_of(why, value->present[DUMP_WHY_OTHER], DUMP_WHY_OTHER, text);
	common_text_add(text, " others\n");
}

static void example_lines(const struct printing *printing, struct ptl_bytes *text)
{
	const struct dump_why *why = printing->why;

	for (int side = 0; side < DUMP_WHY_SIDES; side++) {
		common_text_add(text, side ? "  another call:  " : "  a slow call:   ");
		dump_why_command(why, &why->set.calls[why->examples[side]], text);
		common_text_add(text, "\n");
	}
}

static int text_answer(struct printing *printing)
{
	struct ptl_bytes text = {0};
	int status;

	calls_line(printing, &text);
	path_line(printing, &text);
	best_branch(printing, &text);
	best_value(printing, &text);
	best_line(printing, &text);
	example_lines(printing, &text);
	status = text.failed ? common_fail_memory("lines", text.size) : 0;
	common_text_write(&text, printing->run->out);
	common_bytes_free(&text);
	return status;
}

/* ---- tables -------------------------------------------------------------------------------------- */

static void function_cells(const struct printing *printing, struct dump_table *table,
			   const struct dump_why_function *row)
{
	const struct dump_why *why = printing->why;
	const struct dump_why_node_sum *slow = &row->sums[DUMP_WHY_SLOW], *other = &row->sums[DUMP_WHY_OTHER];
	const struct analysis_function *function = analysis_function(why->calls->functions, row->function);

	if (!why->by_instructions) {
		time_cell(table, dump_why_excess(why, slow->time, other->time));
		time_cell(table, dump_why_excess(why, row->own[DUMP_WHY_SLOW].time, row->own[DUMP_WHY_OTHER].time));
		time_cell(table, dump_why_excess(why, slow->absence.kernel, other->absence.kernel));
		time_cell(table, dump_why_excess(why, slow->absence.off, other->absence.off));
	}
	count_cell(table, dump_why_excess(why, slow->instructions, other->instructions));
	count_cell(table,
		   dump_why_excess(why, row->own[DUMP_WHY_SLOW].instructions, row->own[DUMP_WHY_OTHER].instructions));
	mean_cell(table, dump_why_mean(why, row->own[DUMP_WHY_SLOW].calls, DUMP_WHY_SLOW));
	mean_cell(table, dump_why_mean(why, row->own[DUMP_WHY_OTHER].calls, DUMP_WHY_OTHER));
	analysis_function_text(function, &table->text);
	dump_cell_text(table, DUMP_STYLE_PLAIN);
	dump_cell(table, DUMP_STYLE_DIM, function->image);
}

static int text_functions(const struct printing *printing)
{
	static const struct dump_column columns[] = {{"MORE TIME", true},  {"OWN TIME", true},    {"KERNEL", true},
						     {"OFF CPU", true},    {"MORE INSNS", true},  {"OWN INSNS", true},
						     {"CALLS SLOW", true}, {"CALLS OTHER", true}, {"FUNCTION", false},
						     {"IMAGE", false}};
	const struct dump_why *why = printing->why;
	const size_t skipped = why->by_instructions ? 4 : 0;
	struct dump_table table = {.columns = columns + skipped, .column_count = 10 - skipped};
	const double whole = dump_why_node_excess(why, why->nodes[0].sums);
	uint64_t shown = 0;

	for (size_t i = 0; i < why->function_count && shown < printing->limit; i++) {
		if (!matters(dump_why_node_excess(why, why->functions[i].sums), whole))
			continue;
		function_cells(printing, &table, &why->functions[i]);
		shown++;
	}
	fputc('\n', printing->run->out);
	return dump_table_print(&table, printing->run);
}

static int text_branches(const struct printing *printing)
{
	static const struct dump_column columns[] = {{"IN SLOW", true},     {"IN OTHER", true}, {"TIMES SLOW", true},
						     {"TIMES OTHER", true}, {"BRANCH", false},  {"WAY", false}};
	const struct dump_why *why = printing->why;
	struct dump_table table = {.columns = columns, .column_count = 6};

	for (size_t i = 0; i < why->branch_count && i < printing->limit && dump_why_tells(why, &why->branches[i]);
	     i++) {
		const struct dump_why_place *branch = &why->branches[i];

		for (int side = 0; side < DUMP_WHY_SIDES; side++) {
			common_text_share(&table.text, branch->sums[side].present, why->counts[side]);
			dump_cell_text(&table, DUMP_STYLE_PLAIN);
		}
		for (int side = 0; side < DUMP_WHY_SIDES; side++)
			mean_cell(&table, dump_why_mean(why, branch->sums[side].count, side));
		add_address(why, branch->image, branch->address, &table.text);
		add_function_of(why, branch->image, branch->address, &table.text);
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
		add_way(why, branch, &table.text);
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
	}
	fputc('\n', printing->run->out);
	return dump_table_print(&table, printing->run);
}

static void line_cells(struct printing *printing, struct dump_table *table, const struct dump_why_place *line)
{
	const struct dump_why *why = printing->why;
	const struct dump_why_place_sum *slow = &line->sums[DUMP_WHY_SLOW], *other = &line->sums[DUMP_WHY_OTHER];

	if (why->has_line_times) {
		/* Bounds of a difference: least time of a side minus most time of the opposite side. */
		time_cell(table, dump_why_excess(why, slow->time, other->time));
		time_cell(table, dump_why_excess(why, slow->least, other->most));
		time_cell(table, dump_why_excess(why, slow->most, other->least));
	}
	count_cell(table, dump_why_excess(why, slow->count, other->count));
	for (int side = 0; side < DUMP_WHY_SIDES; side++) {
		common_text_share(&table->text, line->sums[side].present, why->counts[side]);
		dump_cell_text(table, DUMP_STYLE_PLAIN);
	}
	for (int side = 0; has_cycles(why) && side < DUMP_WHY_SIDES; side++) {
		if (line->sums[side].cycle_instructions >= CYCLES_LEAST)
			common_text_format(&table->text, "%.2f", cycle_rate(&line->sums[side]));
		dump_cell_text(table, DUMP_STYLE_PLAIN);
	}
	add_line_place(why, line, false, &table->text);
	dump_cell_text(table, DUMP_STYLE_PLAIN);
	if (line->kind == DUMP_WHY_LINE)
		add_words(printing, line->file, line->line, "", &table->text);
	dump_cell_text(table, DUMP_STYLE_DIM);
}

static int text_lines(struct printing *printing)
{
	static const struct dump_column of_times[] = {{"MORE TIME", true}, {"AT LEAST", true}, {"AT MOST", true}};
	static const struct dump_column of_counts[] = {{"MORE INSNS", true}, {"IN SLOW", true}, {"IN OTHER", true}};
	static const struct dump_column of_cycles[] = {{"IPC SLOW", true}, {"IPC OTHER", true}};
	static const struct dump_column of_lines[] = {{"LINE OR BLOCK", false}, {"", false}};
	const struct dump_why *why = printing->why;
	const bool by_time = why->has_line_times && !why->by_instructions;
	const struct {
		const struct dump_column *columns;
		size_t count;
	} groups[] = {{of_times, why->has_line_times ? 3 : 0},
		      {of_counts, 3},
		      {of_cycles, has_cycles(why) ? 2 : 0},
		      {of_lines, 2}};
	struct dump_column columns[DUMP_COLUMNS_MAX];
	struct dump_table table = {.columns = columns};

	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		for (size_t k = 0; k < groups[i].count; k++)
			columns[table.column_count++] = groups[i].columns[k];
	for (size_t i = 0; i < why->line_count && i < printing->limit; i++)
		if (matters(line_excess(why, &why->lines[i], by_time), whole_excess(why, by_time)))
			line_cells(printing, &table, &why->lines[i]);
	fputc('\n', printing->run->out);
	return dump_table_print(&table, printing->run);
}

static int text_events(const struct printing *printing)
{
	static const struct dump_column columns[] = {
		{"EVENTS SLOW", true}, {"EVENTS OTHER", true}, {"IN SLOW", true}, {"IN OTHER", true}, {"EVENT", false}};
	const struct dump_why *why = printing->why;
	struct dump_table table = {.columns = columns, .column_count = 5};

	for (size_t i = 0; i < why->event_count && i < printing->limit; i++) {
		const struct dump_why_event *event = &why->events[i];

		for (int side = 0; side < DUMP_WHY_SIDES; side++)
			mean_cell(&table, dump_why_mean(why, event->count[side], side));
		for (int side = 0; side < DUMP_WHY_SIDES; side++) {
			common_text_share(&table.text, event->present[side], why->counts[side]);
			dump_cell_text(&table, DUMP_STYLE_PLAIN);
		}
		analysis_text_full_name(&table.text, &why->names, &event->descriptor, event->schema);
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
	}
	if (why->event_count)
		fputc('\n', printing->run->out);
	return dump_table_print(&table, printing->run);
}

static int text_values(const struct printing *printing)
{
	static const struct dump_column columns[] = {{"IN SLOW", true}, {"IN OTHER", true}, {"VALUE", false}};
	const struct dump_why *why = printing->why;
	struct dump_table table = {.columns = columns, .column_count = 3};

	for (size_t i = 0; i < why->value_count && i < printing->limit; i++) {
		for (int side = 0; side < DUMP_WHY_SIDES; side++) {
			common_text_share(&table.text, why->values[i].present[side], why->counts[side]);
			dump_cell_text(&table, DUMP_STYLE_PLAIN);
		}
		add_value(why, &why->values[i], &table.text);
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
	}
	if (why->value_count)
		fputc('\n', printing->run->out);
	return dump_table_print(&table, printing->run);
}

int dump_why_text(const struct dump_why *why, uint64_t limit)
{
	struct printing printing = {.why = why, .run = why->run, .limit = limit};
	int status;

	dump_source_texts_start(&printing.texts, printing.run);
	status = text_answer(&printing);
	if (status == 0)
		status = text_functions(&printing);
	if (status == 0)
		status = text_branches(&printing);
	if (status == 0)
		status = text_lines(&printing);
	if (status == 0)
		status = text_events(&printing);
	if (status == 0)
		status = text_values(&printing);
	dump_source_texts_warn(&printing.texts);
	dump_source_texts_free(&printing.texts);
	return status;
}
