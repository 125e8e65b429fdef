/* SPDX-License-Identifier: BSD-2-Clause */
#include "common/plural.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define ONE '\001'
#define MANY '\002'
#define END '\003'

/* Returns whether the last whole number between `text` and `end` is 1. A number stands between blanks and brackets. */
static bool is_one(const char *text, const char *end)
{
	bool one = false;

	for (const char *at = text; at < end;) {
		const char *word = at;

		while (at < end && !strchr(" (", *at))
			at++;
		if (word < at && isdigit((unsigned char)*word)) {
			const size_t digits = strspn(word, "0123456789,");

			if (word + digits >= at)
				one = digits == 1 && *word == '1';
		}
		at += at < end;
	}
	return one;
}

void common_plural_choose(const char *format, char *text)
{
	char *out = text;

	/* The text of another format may have the same bytes in a name. */
	if (!strchr(format, ONE))
		return;
	for (const char *at = text; *at;) {
		const char *many = *at == ONE ? strchr(at, MANY) : NULL;
		const char *end = many ? strchr(many, END) : NULL;

		if (!end) {
			*out++ = *at++;
			continue;
		}
		if (is_one(text, out)) {
			memmove(out, at + 1, (size_t)(many - at - 1));
			out += many - at - 1;
		} else {
			memmove(out, many + 1, (size_t)(end - many - 1));
			out += end - many - 1;
		}
		at = end + 1;
	}
	*out = 0;
}
