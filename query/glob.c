/* SPDX-License-Identifier: BSD-2-Clause */
/* Matches patterns without recursion: only the text of the last * is extended. */
#include "query/glob.h"

#include <string.h>

static void capture(struct query_captures *captures, unsigned index, const char *text, size_t size)
{
	if (!captures || index >= QUERY_CAPTURES_MAX)
		return;
	captures->list[index].text = text;
	captures->list[index].size = size;
	captures->count = index + 1;
}

bool query_glob(const char *pattern, const char *text, size_t size, struct query_captures *captures)
{
	const char *end = text + size, *at = text;
	/* Position behind the last *; start and current end of its text. */
	const char *star = NULL, *star_start = NULL, *star_end = NULL;
	unsigned count = 0, star_count = 0;

	if (captures)
		captures->count = 0;
	for (;;) {
		const char *literal = *pattern == '\\' && pattern[1] ? pattern + 1 : pattern;

		if (*pattern == '*') {
			star = ++pattern;
			star_start = star_end = at;
			star_count = ++count;
			capture(captures, count - 1, at, 0);
		} else if (at < end && *pattern == '?') {
			capture(captures, count++, at++, 1);
			pattern++;
		} else if (at < end && *pattern && *literal == *at) {
			pattern = literal + 1;
			at++;
		} else if (at == end && !*pattern) {
			return true;
		} else if (star && star_end < end) {
			at = ++star_end;
			capture(captures, star_count - 1, star_start, (size_t)(at - star_start));
			pattern = star;
			count = star_count;
		} else {
			return false;
		}
	}
}

bool query_glob_path(const char *pattern, const char *path)
{
	const char *slash = strchr(pattern, '/') ? NULL : strrchr(path, '/');
	const char *text = slash ? slash + 1 : path;

	return query_glob(pattern, text, strlen(text), NULL);
}

void query_replace(struct ptl_bytes *out, const char *replacement, const struct query_captures *captures)
{
	for (const char *p = replacement; *p; p++) {
		unsigned index = *p == '$' && p[1] >= '1' && p[1] <= '9' ? (unsigned)(p[1] - '1') : 9;

		if (index < captures->count)
			common_write_bytes(out, captures->list[index].text, captures->list[index].size);
		else if (index == 9)
			common_write_bytes(out, p, 1);
		p += *p == '$' && p[1];
	}
}
