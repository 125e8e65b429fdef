/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes coverage as text and JSON. */
#include <inttypes.h>

#include "common/text/text.h"
#include "dump/export/coverage/coverage.h"
#include "dump/print/table.h"

/* ---- text ---------------------------------------------------------------------------------------- */

static const struct dump_column columns[] = {
	{"LINES", true}, {"OF", true},        {"%", true},  {"BRANCHES", true}, {"OF", true},
	{"%", true},     {"FUNCTIONS", true}, {"OF", true}, {"%", true},        {"FILE", false},
};

static void share_cells(struct dump_table *table, uint64_t part, uint64_t all, enum dump_style style)
{
	common_text_count(&table->text, part);
	dump_cell_text(table, style);
	common_text_count(&table->text, all);
	dump_cell_text(table, style);
	common_text_share(&table->text, part, all);
	dump_cell_text(table, style);
}

static void text_row(struct dump_table *table, const struct analysis_coverage_sum *sum, const char *name,
		     enum dump_style style)
{
	share_cells(table, sum->lines_run, sum->lines, style);
	share_cells(table, sum->branches_run, sum->branches, style);
	share_cells(table, sum->functions_run, sum->functions, style);
	dump_cell(table, style, name);
}

/* Prints "/src/a.c: did not run: 12-14, 20". */
static void not_run(struct dump_coverage_print *print, const struct analysis_covered_file *file)
{
	struct ptl_bytes *line = &print->line;
	bool any = false;

	line->size = 0;
	for (size_t i = 0; i < file->line_count; i++) {
		const uint32_t first = file->lines[i].line;

		if (file->lines[i].count)
			continue;
		while (i + 1 < file->line_count && !file->lines[i + 1].count &&
		       file->lines[i + 1].line == file->lines[i].line + 1)
			i++;
		if (!any)
			common_text_safe(line, file->path);
		common_text_format(line, "%s%" PRIu32, any ? ", " : ": did not run: ", first);
		if (file->lines[i].line > first)
			common_text_format(line, "-%" PRIu32, file->lines[i].line);
		any = true;
	}
	common_text_add(line, any ? "\n" : "");
	common_text_write(line, print->run->out);
}

int dump_coverage_text(struct dump_coverage_print *print)
{
	const struct analysis_coverage *coverage = print->coverage;
	struct dump_table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(columns[0])};
	struct analysis_coverage_sum all = {0};
	int status;

	for (size_t i = 0; i < coverage->file_count; i++) {
		struct analysis_coverage_sum sum = {0};

		analysis_coverage_sum(&coverage->files[i], &sum);
		analysis_coverage_sum(&coverage->files[i], &all);
		if (sum.lines)
			text_row(&table, &sum, coverage->files[i].path, DUMP_STYLE_PLAIN);
	}
	text_row(&table, &all, "all", DUMP_STYLE_BOLD);
	status = dump_table_print(&table, print->run);
	for (size_t i = 0; !status && coverage->changes && i < coverage->file_count; i++)
		not_run(print, &coverage->files[i]);
	return status;
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static void json_sum(struct common_json *json, const struct analysis_coverage_sum *sum)
{
	common_json_u64(json, "lines_found", sum->lines);
	common_json_u64(json, "lines_run", sum->lines_run);
	common_json_u64(json, "branches_found", sum->branches);
	common_json_u64(json, "branches_run", sum->branches_run);
	common_json_u64(json, "functions_found", sum->functions);
	common_json_u64(json, "functions_run", sum->functions_run);
}

static void json_lists(struct common_json *json, const struct analysis_covered_file *file)
{
	common_json_array(json, "functions");
	for (size_t i = 0; i < file->function_count; i++) {
		common_json_object(json, NULL);
		common_json_string(json, "name", file->functions[i].name);
		common_json_u64(json, "line", file->functions[i].line);
		common_json_u64(json, "count", file->functions[i].count);
		common_json_object_end(json);
	}
	common_json_array_end(json);
	common_json_array(json, "lines");
	for (size_t i = 0; i < file->line_count; i++) {
		common_json_object(json, NULL);
		common_json_u64(json, "line", file->lines[i].line);
		common_json_u64(json, "count", file->lines[i].count);
		common_json_object_end(json);
	}
	common_json_array_end(json);
	common_json_array(json, "branches");
	for (size_t i = 0; i < file->branch_count; i++) {
		common_json_object(json, NULL);
		common_json_u64(json, "line", file->branches[i].line);
		common_json_u64(json, "number", file->branches[i].number);
		common_json_u64(json, "count", file->branches[i].count);
		common_json_u64(json, "taken", file->branches[i].taken);
		common_json_u64(json, "not_taken", file->branches[i].not_taken);
		common_json_object_end(json);
	}
	common_json_array_end(json);
}

int dump_coverage_json(struct dump_coverage_print *print)
{
	struct common_json *json = &print->run->json_out;
	int status = 0;

	for (size_t i = 0; !status && i < print->coverage->file_count; i++) {
		const struct analysis_covered_file *file = &print->coverage->files[i];
		struct analysis_coverage_sum sum = {0};

		if (!file->line_count)
			continue;
		analysis_coverage_sum(file, &sum);
		common_json_object(json, NULL);
		common_json_string(json, "file", file->path);
		json_sum(json, &sum);
		json_lists(json, file);
		common_json_object_end(json);
		common_json_line(json);
		status = dump_output_check(print->run);
	}
	return status;
}
