/* SPDX-License-Identifier: BSD-2-Clause */
/* Patterns of rule files: *, ? and backslash over any bytes; man/ptl-rules.5, WORDS. */
#ifndef QUERY_GLOB_H
#define QUERY_GLOB_H

#include <stdbool.h>
#include <stddef.h>

#include "common/bytes.h"

#define QUERY_CAPTURES_MAX 9

/* What the wildcards of a pattern matched, in their order. */
struct query_captures {
	struct {
		const char *text;
		size_t size;
	} list[QUERY_CAPTURES_MAX];
	unsigned count;
};

/*
 * Whether the pattern matches all of the text; each * takes as little as it can, from the left. captures may be
 * NULL, and point into the text. The time is at most that of the product of both sizes.
 */
bool query_glob(const char *pattern, const char *text, size_t size, struct query_captures *captures);

/* The same for a path: its last part, or all of it if the pattern has a slash. */
bool query_glob_path(const char *pattern, const char *path);

/* Appends the replacement with $1 to $9 and $$ put in. A number beyond the captures is the empty text. */
void query_replace(struct ptl_bytes *out, const char *replacement, const struct query_captures *captures);

#endif
