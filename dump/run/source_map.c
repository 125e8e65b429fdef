/* SPDX-License-Identifier: BSD-2-Clause */
/* A list of rules for the whole program: merge, jobs and commands use the same rules. */
#include "dump/run/source_map.h"

#include <string.h>

#include "common/error.h"
#include "common/program/options.h"

static struct common_string_list rules;

int dump_source_map_take(void *unused, const char *rule)
{
	(void)unused;
	if (*rule == '=' || !strchr(rule, '='))
		return common_fail(PTL_MISUSE, "FROM=TO was expected, as in /build/src=/home/me/src");
	return common_string_list_add(&rules, rule);
}

void dump_source_map_free(void)
{
	common_string_list_free(&rules);
	rules = (struct common_string_list){0};
}

const char *dump_source_map_rule(size_t i, const char **from, size_t *from_size)
{
	const char *equals;

	if (i >= rules.count)
		return NULL;
	*from = rules.list[i];
	equals = strchr(*from, '=');
	*from_size = (size_t)(equals - *from);
	return equals + 1;
}

bool dump_source_map_apply(const char *path, struct ptl_bytes *mapped)
{
	const char *from, *to;
	size_t size;

	for (size_t i = 0; (to = dump_source_map_rule(i, &from, &size)) != NULL; i++) {
		const char *rest = path + size;

		if (strncmp(path, from, size) != 0 || (*rest && *rest != '/' && from[size - 1] != '/'))
			continue;
		mapped->size = 0;
		common_write_bytes(mapped, to, strlen(to));
		/* "/a/=/b" and "/a=/b/" mean the same as "/a=/b". */
		if (*rest && *rest != '/')
			common_write_le(mapped, '/', 1);
		common_write_bytes(mapped, rest, strlen(rest) + 1);
		return !mapped->failed;
	}
	return false;
}
