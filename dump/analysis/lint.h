/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures what is missing in a trace: a value for each check, and findings as evidence. */
#ifndef DUMP_ANALYSIS_LINT_H
#define DUMP_ANALYSIS_LINT_H

#include "dump/analysis/lint_check.h"
#include "dump/session/command.h"
#include "flow/timeline/timeline.h"
#include "flow/view/missing.h"
#include "flow/view/unmapped.h"
#include "flow/view/view.h"

/* A finding of a check: a range of unknown code, a loss, a damaged place, ... */
struct dump_lint_finding {
	unsigned check;
	char *text; /* owned; safe for a terminal */
};

struct dump_lint {
	struct dump_lint_value values[DUMP_LINT_CHECKS];
	struct dump_lint_finding *findings; /* sorted by check; the worst finding of a check comes first */
	size_t count;
};

#define DUMP_LINT_SHOWN FLOW_MISSING_LISTED /* findings listed per check */

/*
 * Reads the whole file and decodes the selected flow. broken_blobs: counted by the caller, which reads the file first.
 * Free with dump_lint_free.
 */
int dump_lint_measure(struct dump_session *session, const struct flow_timeline *timeline,
		      const struct flow_view_options *options, size_t broken_blobs, struct dump_lint *lint);
void dump_lint_free(struct dump_lint *lint);

#endif
