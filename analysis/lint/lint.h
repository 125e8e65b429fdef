/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures what is missing in a trace: a value for each check, and findings as evidence. */
#ifndef ANALYSIS_LINT_LINT_H
#define ANALYSIS_LINT_LINT_H

#include "analysis/input/input.h"
#include "analysis/lint/lint_check.h"
#include "analysis/profile/missing.h"
#include "analysis/profile/unmapped.h"
#include "flow/timeline/timeline.h"
#include "flow/view/view.h"

/* A finding of a check: a range of unknown code, a loss, a damaged place, ... */
struct analysis_lint_finding {
	unsigned check;
	char *text; /* owned; safe for a terminal */
};

struct analysis_lint {
	struct analysis_lint_value values[ANALYSIS_LINT_CHECKS];
	struct analysis_lint_finding *findings; /* sorted by check; the worst finding of a check comes first */
	size_t count;
};

#define ANALYSIS_LINT_SHOWN ANALYSIS_MISSING_LISTED /* findings listed per check */

/*
 * Reads the whole file and decodes the selected flow. broken_blobs: counted by the caller, which reads the file first.
 * Free with analysis_lint_free.
 */
int analysis_lint_measure(const struct analysis_input *input, const struct flow_timeline *timeline, size_t broken_blobs,
			  struct analysis_lint *lint);
/* Adds a finding of the last check, after all others. Returns 0 or PTL_NO_MEMORY. */
int analysis_lint_add(struct analysis_lint *lint, unsigned check, const char *finding);
void analysis_lint_free(struct analysis_lint *lint);

#endif
