/* SPDX-License-Identifier: BSD-2-Clause */
/* Patterns of rule files: *, ? and backslash over any bytes; man/ptl-rules.5, WORDS. */
#ifndef RELOG_RULES_GLOB_H
#define RELOG_RULES_GLOB_H

#include <stdbool.h>
#include <stddef.h>

#include "common/bytes.h"

#define RULES_CAPTURES_MAX 9

/* What the wildcards of a pattern matched, in their order. */
struct rules_captures {
	struct {
		const char *text;
		size_t size;
	} list[RULES_CAPTURES_MAX];
	unsigned count;
};

/*
 * Whether the pattern matches all of the text; each * takes as little as it can, from the left. captures may be
 * NULL, and point into the text. The time is at most that of the product of both sizes.
 */
bool rules_glob(const char *pattern, const char *text, size_t size, struct rules_captures *captures);

/* The same for a path: its last part, or all of it if the pattern has a slash. */
bool rules_glob_path(const char *pattern, const char *path);

/* Appends the replacement with $1 to $9 and $$ put in. A number beyond the captures is the empty text. */
void rules_replace(struct ptl_bytes *out, const char *replacement, const struct rules_captures *captures);

#endif
