/* SPDX-License-Identifier: BSD-2-Clause */
/* Matches patterns against a program's path and the first word of its command line. */
#include "common/text/program_name.h"

#include <fnmatch.h>
#include <string.h>

#include "common/text/text.h"

static bool matches(const char *pattern, const char *path)
{
	const char *name = strchr(pattern, '/') ? path : common_base_name(path);

	/* "[kworker/0:1]" is a name, not a set of letters. */
	return *path && (!strcmp(pattern, name) || fnmatch(pattern, name, 0) == 0);
}

void common_first_word(struct ptl_bytes *out, const char *command_line)
{
	char quote = 0;

	for (const char *at = command_line; *at && (quote || (*at != ' ' && *at != '\t')); at++) {
		if (*at == quote)
			quote = 0;
		else if (!quote && (*at == '\'' || *at == '"'))
			quote = *at;
		else if (!quote && *at == '\\' && (at[1] == '\'' || at[1] == '\\' || at[1] == ' '))
			common_write_bytes(out, ++at, 1);
		else
			common_write_bytes(out, at, 1);
	}
	common_write_bytes(out, "", 1);
}

bool common_program_matches(const char *pattern, const char *path, const char *command_line)
{
	struct ptl_bytes word = {0};
	bool found = matches(pattern, path);

	if (!found && *command_line) {
		common_first_word(&word, command_line);
		found = !word.failed && matches(pattern, (const char *)word.data);
		common_bytes_free(&word);
	}
	return found;
}
