/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the findings of lint as a table and as JSON. */
#include "dump/print/lint_report.h"

#include "common/text/text.h"
#include "dump/print/table.h"

static bool passes(const struct dump_lint_report *report, unsigned check)
{
	return analysis_lint_passes(check, &report->lint->values[check], report->limits->limit[check]);
}

bool dump_lint_report_passes(const struct dump_lint_report *report)
{
	for (unsigned i = 0; i < ANALYSIS_LINT_CHECKS; i++)
		if (!passes(report, i))
			return false;
	return true;
}

size_t dump_lint_report_findings(const struct dump_lint_report *report, unsigned check, size_t *first)
{
	const struct analysis_lint *lint = report->lint;
	size_t count = 0;

	for (*first = 0; *first < lint->count && lint->findings[*first].check < check;)
		++*first;
	while (*first + count < lint->count && lint->findings[*first + count].check == check)
		count++;
	return count;
}

/* Hides gap causes without gaps: the sum of all gaps is shown anyway. */
static bool is_shown(const struct dump_lint_report *report, unsigned check)
{
	return check < ANALYSIS_LINT_GAP_CAUSES || check >= ANALYSIS_LINT_UNKNOWN_CODE ||
	       report->lint->values[check].number;
}

static void print_findings(const struct dump_lint_report *report, struct dump_run *run, unsigned check)
{
	size_t first;
	const size_t count = dump_lint_report_findings(report, check, &first);
	char room[ANALYSIS_LINT_NAME];

	if (!count)
		return;
	fprintf(run->out, "\n%s%s%s\n", dump_bold(run), analysis_lint_name(check, room), dump_plain(run));
	for (size_t i = 0; i < count; i++)
		fprintf(run->out, "  %s\n", report->lint->findings[first + i].text);
	if (count == ANALYSIS_LINT_SHOWN && !analysis_lint_is_share(check) &&
	    report->lint->values[check].number > count)
		fprintf(run->out, "  ... and %llu more\n",
			(unsigned long long)(report->lint->values[check].number - count));
}

int dump_lint_report_text(const struct dump_lint_report *report, struct dump_run *run)
{
	static const struct dump_column columns[] = {
		{"CHECK", false}, {"VALUE", true}, {"LIMIT", true}, {"RESULT", false}, {"OF", false}};
	struct dump_table table = {.columns = columns, .column_count = sizeof(columns) / sizeof(columns[0])};
	char room[ANALYSIS_LINT_NAME];
	int status;

	for (unsigned i = 0; i < ANALYSIS_LINT_CHECKS; i++) {
		const bool good = passes(report, i);
		const enum dump_style style = good ? DUMP_STYLE_PLAIN : DUMP_STYLE_RED;

		if (!is_shown(report, i))
			continue;
		dump_cell(&table, good ? DUMP_STYLE_BOLD : DUMP_STYLE_RED, analysis_lint_name(i, room));
		analysis_lint_text_value(&table.text, i, &report->lint->values[i]);
		dump_cell_text(&table, style);
		analysis_lint_text_limit(&table.text, i, report->limits->limit[i]);
		dump_cell_text(&table, DUMP_STYLE_PLAIN);
		dump_cell(&table, style, good ? "passed" : "FAILED");
		dump_cell(&table, DUMP_STYLE_DIM, analysis_lint_meaning(i));
	}
	status = dump_table_print(&table, run);
	for (unsigned i = 0; !status && i < ANALYSIS_LINT_CHECKS; i++)
		print_findings(report, run, i);
	return status;
}

static void json_check(const struct dump_lint_report *report, struct common_json *json, unsigned check)
{
	const struct analysis_lint_value *value = &report->lint->values[check];
	const uint64_t limit = report->limits->limit[check];
	char room[ANALYSIS_LINT_NAME];
	size_t first, count = dump_lint_report_findings(report, check, &first);

	common_json_object(json, NULL);
	common_json_string(json, "check", analysis_lint_name(check, room));
	if (!analysis_lint_is_share(check)) {
		common_json_u64(json, "value", value->number);
	} else if (value->of) {
		common_json_double(json, "value", analysis_lint_percent(value));
		common_json_u64(json, "part", value->number);
		common_json_u64(json, "whole", value->of);
	} else {
		common_json_null(json, "value");
	}
	if (limit == ANALYSIS_LINT_ANY)
		common_json_null(json, "limit");
	else if (analysis_lint_is_share(check))
		common_json_double(json, "limit", (double)limit / ANALYSIS_LINT_MICRO);
	else
		common_json_u64(json, "limit", limit);
	common_json_bool(json, "passed", passes(report, check));
	common_json_array(json, "findings");
	for (size_t i = 0; i < count; i++)
		common_json_string(json, NULL, report->lint->findings[first + i].text);
	common_json_array_end(json);
	common_json_object_end(json);
}

void dump_lint_report_json(const struct dump_lint_report *report, struct dump_run *run)
{
	struct common_json *json = &run->json_out;

	common_json_object(json, NULL);
	common_json_string(json, "file", report->path);
	common_json_bool(json, "passed", dump_lint_report_passes(report));
	common_json_array(json, "checks");
	for (unsigned i = 0; i < ANALYSIS_LINT_CHECKS; i++)
		json_check(report, json, i);
	common_json_array_end(json);
	common_json_object_end(json);
	common_json_line(json);
}
