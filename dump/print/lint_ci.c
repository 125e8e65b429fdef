/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes findings of lint in formats of CI systems: JUnit XML, GitHub's annotations, GitLab's Code Quality. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/sha256.h"
#include "common/text/text.h"
#include "dump/print/lint_report.h"
#include "dump/print/markup.h"

#define SUITE "ptl-dump lint"

static bool passes(const struct dump_lint_report *report, unsigned check)
{
	return analysis_lint_passes(check, &report->lint->values[check], report->limits->limit[check]);
}

/* Appends "decoded: 93.1 % is not >= 99 %". */
static void add_verdict(const struct dump_lint_report *report, unsigned check, struct ptl_bytes *text)
{
	char room[ANALYSIS_LINT_NAME];

	common_text_add(text, analysis_lint_name(check, room));
	common_text_add(text, ": ");
	analysis_lint_text_value(text, check, &report->lint->values[check]);
	common_text_add(text, " is not ");
	analysis_lint_text_limit(text, check, report->limits->limit[check]);
	common_text_add(text, " (");
	common_text_add(text, analysis_lint_meaning(check));
	common_text_add(text, ")");
}

/* ---- JUnit --------------------------------------------------------------------------------------- */

static void junit_failure(const struct dump_lint_report *report, unsigned check, struct ptl_bytes *text)
{
	size_t first, count = dump_lint_report_findings(report, check, &first);
	struct ptl_bytes words = {0};

	add_verdict(report, check, &words);
	common_text_add(text, ">\n      <failure type=\"limit\" message=\"");
	dump_text_xml(text, words.data, words.size);
	common_text_add(text, "\">");
	for (size_t i = 0; i < count; i++) {
		const char *finding = report->lint->findings[first + i].text;

		dump_text_xml(text, finding, strlen(finding));
		common_text_add(text, "\n");
	}
	common_text_add(text, "</failure>\n    </testcase>\n");
	text->failed |= words.failed;
	common_bytes_free(&words);
}

void dump_lint_report_junit(const struct dump_lint_report *report, struct ptl_bytes *text)
{
	char room[ANALYSIS_LINT_NAME];
	unsigned failures = 0;

	for (unsigned i = 0; i < ANALYSIS_LINT_CHECKS; i++)
		failures += !passes(report, i);
	common_text_format(text,
			   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
			   "<testsuites tests=\"%u\" failures=\"%u\">\n"
			   "  <testsuite name=\"" SUITE "\" tests=\"%u\" failures=\"%u\" errors=\"0\" skipped=\"0\">\n",
			   ANALYSIS_LINT_CHECKS, failures, ANALYSIS_LINT_CHECKS, failures);
	for (unsigned i = 0; i < ANALYSIS_LINT_CHECKS; i++) {
		common_text_add(text, "    <testcase classname=\"");
		dump_text_xml(text, report->path, strlen(report->path));
		common_text_format(text, "\" name=\"%s\"", analysis_lint_name(i, room));
		if (passes(report, i))
			common_text_add(text, "/>\n");
		else
			junit_failure(report, i, text);
	}
	common_text_add(text, "  </testsuite>\n</testsuites>\n");
}

/* ---- GitHub -------------------------------------------------------------------------------------- */

/* Appends escaped data of a workflow command. in_property: escapes the data for a property. */
static void add_command_words(struct ptl_bytes *text, const char *words, size_t size, bool in_property)
{
	for (size_t i = 0; i < size; i++) {
		const bool escaped = strchr("%\r\n", words[i]) || (in_property && strchr(":,", words[i]));

		if (escaped)
			common_text_format(text, "%%%02X", (unsigned char)words[i]);
		else
			common_write_bytes(text, &words[i], 1);
	}
}

void dump_lint_report_github(const struct dump_lint_report *report, struct ptl_bytes *text)
{
	struct ptl_bytes words = {0};
	char room[ANALYSIS_LINT_NAME];

	for (unsigned i = 0; i < ANALYSIS_LINT_CHECKS; i++) {
		size_t first, count = dump_lint_report_findings(report, i, &first);

		if (passes(report, i))
			continue;
		words.size = 0;
		add_verdict(report, i, &words);
		for (size_t k = 0; k < count; k++) {
			common_text_add(&words, "\n");
			common_text_add(&words, report->lint->findings[first + k].text);
		}
		common_text_add(text, "::error file=");
		add_command_words(text, report->path, strlen(report->path), true);
		common_text_format(text, ",title=" SUITE " %s::", analysis_lint_name(i, room));
		add_command_words(text, (const char *)words.data, words.size, false);
		common_text_add(text, "\n");
	}
	text->failed |= words.failed;
	common_bytes_free(&words);
}

/* ---- GitLab -------------------------------------------------------------------------------------- */

/*
 * Adds a fingerprint. Equal findings in the same file have equal fingerprints, so GitLab reports only new findings as
 * new.
 */
static void add_fingerprint(struct common_json *json, const struct dump_lint_report *report, const char *name,
			    const char *words)
{
	struct ptl_bytes all = {0};
	uint8_t hash[COMMON_SHA256_SIZE];
	char shown[COMMON_SHA256_TEXT_SIZE];

	common_text_format(&all, "%s\n", name);
	common_text_add(&all, report->path);
	common_text_add(&all, "\n");
	common_text_add(&all, words);
	common_sha256_of(all.data, all.size, hash);
	common_sha256_format(hash, shown);
	common_json_string(json, "fingerprint", shown);
	common_bytes_free(&all);
}

static void add_issue(struct common_json *json, const struct dump_lint_report *report, unsigned check,
		      const char *words)
{
	char room[ANALYSIS_LINT_NAME];

	common_json_object(json, NULL);
	common_json_string(json, "description", words);
	common_json_string(json, "check_name", analysis_lint_name(check, room));
	add_fingerprint(json, report, analysis_lint_name(check, room), words);
	common_json_string(json, "severity", "major");
	common_json_object(json, "location");
	common_json_string(json, "path", report->path);
	common_json_object(json, "lines");
	common_json_u64(json, "begin", 1);
	common_json_object_end(json);
	common_json_object_end(json);
	common_json_object_end(json);
}

static void add_issues(struct common_json *json, const struct dump_lint_report *report, unsigned check)
{
	size_t first, count = dump_lint_report_findings(report, check, &first);
	struct ptl_bytes words = {0};

	add_verdict(report, check, &words);
	add_issue(json, report, check, common_text_string(&words));
	for (size_t i = 0; i < count; i++)
		add_issue(json, report, check, report->lint->findings[first + i].text);
	common_bytes_free(&words);
}

int dump_lint_report_gitlab(const struct dump_lint_report *report, struct ptl_bytes *text)
{
	struct common_json json;
	char *data = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&data, &size);

	if (!file)
		return common_fail_memory("a report", 0);
	common_json_start(&json, file);
	common_json_array(&json, NULL);
	for (unsigned i = 0; i < ANALYSIS_LINT_CHECKS; i++)
		if (!passes(report, i))
			add_issues(&json, report, i);
	common_json_array_end(&json);
	common_json_line(&json);
	if (fclose(file) != 0) {
		free(data);
		return common_fail_memory("a report", size);
	}
	common_write_bytes(text, data, size);
	free(data);
	return 0;
}
