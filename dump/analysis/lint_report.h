/* SPDX-License-Identifier: BSD-2-Clause */
/* What ptl-dump lint found: for people, for programs, and as CI systems read it. */
#ifndef DUMP_ANALYSIS_LINT_REPORT_H
#define DUMP_ANALYSIS_LINT_REPORT_H

#include "dump/analysis/lint.h"

struct dump_lint_report {
	const char *path; /* of the trace */
	const struct dump_lint *lint;
	const struct dump_lint_limits *limits;
};

bool dump_lint_report_passes(const struct dump_lint_report *report);
/* How many findings lint->findings has of a check; *first is the index of the first. */
size_t dump_lint_report_findings(const struct dump_lint_report *report, unsigned check, size_t *first);

/* To the session's output. PTL_NO_MEMORY. */
int dump_lint_report_text(const struct dump_lint_report *report, struct dump_session *session);
void dump_lint_report_json(const struct dump_lint_report *report, struct dump_session *session);

/* Each appends a whole document. A failed allocation is left in text->failed. */

/* JUnit XML: a suite of one test a check. */
void dump_lint_report_junit(const struct dump_lint_report *report, struct ptl_bytes *text);
/* Workflow commands of GitHub: a line "::error ..." for each check that fails. */
void dump_lint_report_github(const struct dump_lint_report *report, struct ptl_bytes *text);
/* A Code Quality report of GitLab: JSON, an element for each finding of a check that fails. */
int dump_lint_report_gitlab(const struct dump_lint_report *report, struct ptl_bytes *text);

#endif
