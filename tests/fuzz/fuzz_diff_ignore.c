/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzes lists of differences that ptl-dump diff ignores, and matches names against them. */
#include <stdlib.h>
#include <string.h>

#include "analysis/difference/diff_ignore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* No zero byte follows: reading past the end is an error. */
	char *copy = malloc(size ? size : 1);
	struct analysis_ignore ignore = {0};

	if (!copy)
		return 0;
	if (size)
		memcpy(copy, data, size);
	if (analysis_ignore_parse(&ignore, "list", copy, size) == 0) {
		for (size_t i = 0; i < ignore.count; i++) {
			const struct analysis_ignore_rule *rule = &ignore.rules[i];

			if (!*rule->pattern || rule->first > rule->last)
				abort();
			analysis_ignores_function(&ignore, rule->pattern);
			analysis_ignores_image(&ignore, rule->pattern);
			analysis_ignores_address(&ignore, rule->pattern, rule->first);
		}
	}
	analysis_ignore_free(&ignore);
	free(copy);
	return 0;
}
