/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzes limit files of ptl-dump lint. An accepted limit prints as a line that is accepted again. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/lint/lint_check.h"
#include "common/text/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take_again(const struct analysis_lint_limits *limits)
{
	struct analysis_lint_limits again = *limits;
	char room[ANALYSIS_LINT_NAME];

	for (unsigned i = 0; i < ANALYSIS_LINT_CHECKS; i++) {
		struct ptl_bytes text = {0}, line = {0};
		const char *limit;
		char *plain;
		size_t kept = 0;

		analysis_lint_text_limit(&text, i, limits->limit[i]);
		limit = common_text_string(&text);
		if (strncmp(limit, ">= ", 3) == 0 || strncmp(limit, "<= ", 3) == 0)
			limit += 3;
		plain = strdup(limit);
		for (size_t k = 0; plain[k]; k++)
			if (plain[k] != ',')
				plain[kept++] = plain[k];
		plain[kept] = 0;
		common_text_format(&line, "%s = %s", analysis_lint_name(i, room), plain);
		assert(analysis_lint_limits_set(&again, (const char *)line.data, line.size) == 0);
		assert(again.limit[i] == limits->limit[i]);
		free(plain);
		common_bytes_free(&text);
		common_bytes_free(&line);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + 1);
	struct analysis_lint_limits limits = {false};

	if (!copy)
		return 0;
	/* No zero byte follows: reading past the end is an error. */
	memcpy(copy, data, size);
	copy = realloc(copy, size ? size : 1);
	if (analysis_lint_limits_parse(&limits, "rules", copy, size) == 0) {
		analysis_lint_limits_begin(&limits);
		take_again(&limits);
	}
	free(copy);
	return 0;
}
