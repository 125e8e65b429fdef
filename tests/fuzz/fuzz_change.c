/* SPDX-License-Identifier: BSD-2-Clause */
/* Unified diffs, as ptl-dump coverage --diff-base takes them. */
#include <stdlib.h>
#include <string.h>

#include "analysis/difference/change.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* No zero byte follows: reading past the end is an error. */
	char *copy = malloc(size ? size : 1);
	struct analysis_changes changes = {0};

	if (!copy)
		return 0;
	if (size)
		memcpy(copy, data, size);
	if (analysis_changes_parse(&changes, "diff", copy, size) == 0) {
		for (size_t i = 0; i < changes.file_count; i++) {
			const struct analysis_changed_file *file = &changes.files[i];

			if (file->first + file->count > changes.span_count)
				abort();
			if (*file->path && !analysis_changes_file(&changes, file->path))
				abort();
			for (size_t k = 0; k < file->count; k++)
				if (*file->path &&
				    !analysis_changes_line(&changes, file->path, changes.spans[file->first + k].last))
					abort();
		}
	}
	analysis_changes_free(&changes);
	free(copy);
	return 0;
}
