/* SPDX-License-Identifier: BSD-2-Clause */
/* Patterns of rule files: *, ? and backslash over arbitrary bytes; man/ptl-rules.5, WORDS. */
#ifndef QUERY_GLOB_H
#define QUERY_GLOB_H

#include <stdbool.h>
#include <stddef.h>

#include "common/bytes.h"

#define QUERY_CAPTURES_MAX 9

/* Texts that the wildcards of a pattern matched, in order. */
struct query_captures {
	struct {
		const char *text;
		size_t size;
	} list[QUERY_CAPTURES_MAX];
	unsigned count;
};

/*
 * Whether the pattern matches the whole text. From the left, each * matches as little as possible. captures may be
 * NULL; captures point into the text. Time is at most the product of both sizes.
 */
bool query_glob(const char *pattern, const char *text, size_t size, struct query_captures *captures);

/* As query_glob for the last component of a path, or for the whole path if the pattern has a slash. */
bool query_glob_path(const char *pattern, const char *path);

/* Appends the replacement with $1 to $9 and $$ replaced. A number beyond the captures becomes the empty text. */
void query_replace(struct ptl_bytes *out, const char *replacement, const struct query_captures *captures);

#endif
