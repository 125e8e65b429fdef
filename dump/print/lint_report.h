/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports findings of ptl-dump lint: as text, as JSON, and in formats of CI systems. */
#ifndef DUMP_PRINT_LINT_REPORT_H
#define DUMP_PRINT_LINT_REPORT_H

#include "analysis/lint/lint.h"
#include "dump/run/command.h"

struct dump_lint_report {
	const char *path; /* of the trace */
	const struct analysis_lint *lint;
	const struct analysis_lint_limits *limits;
};

bool dump_lint_report_passes(const struct dump_lint_report *report);
/* Returns the number of findings of a check in lint->findings. *first: index of the first. */
size_t dump_lint_report_findings(const struct dump_lint_report *report, unsigned check, size_t *first);

/* Writes to the run's output. Returns 0 or PTL_NO_MEMORY. */
int dump_lint_report_text(const struct dump_lint_report *report, struct dump_run *run);
void dump_lint_report_json(const struct dump_lint_report *report, struct dump_run *run);

/* The functions below append a whole document. Without memory, they set text->failed. */

/* JUnit XML: one suite with a test for each check. */
void dump_lint_report_junit(const struct dump_lint_report *report, struct ptl_bytes *text);
/* GitHub workflow commands: a line "::error ..." for each failed check. */
void dump_lint_report_github(const struct dump_lint_report *report, struct ptl_bytes *text);
/* GitLab Code Quality report: JSON with an element for each finding of a failed check. */
int dump_lint_report_gitlab(const struct dump_lint_report *report, struct ptl_bytes *text);

#endif
