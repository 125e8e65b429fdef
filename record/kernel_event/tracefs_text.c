/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses names and numbers in texts of tracefs. */
#include "record/kernel_event/tracefs_text.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

#define ID "\nID: "
#define FIELD "\tfield:"
/* Maximal widths of the numbers; a pid has at most seven digits. */
#define GROUP "ptl_%9" SCNu64 "_%19" SCNu64 "_%*9u/%n"

int record_tracefs_text_matching(char *text, const char *pattern, struct common_string_list *names)
{
	char *copy, *rest = NULL;
	int status = 0;

	for (char *name = strtok_r(text, "\n", &rest); status == 0 && name; name = strtok_r(NULL, "\n", &rest)) {
		if (fnmatch(pattern, name, 0) != 0)
			continue;
		copy = strdup(name);
		status = copy ? common_string_list_add(names, copy) : common_fail_memory("a tracepoint", strlen(name));
		if (status < 0)
			free(copy);
	}
	return status;
}

void record_tracefs_text_nearest(char *text, struct common_nearest *nearest)
{
	char *rest = NULL;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		common_nearest_look(nearest, line);
}

uint64_t record_tracefs_text_id(const char *text)
{
	const char *id = strstr(text, ID);

	return id ? strtoull(id + strlen(ID), NULL, 10) : 0;
}

void record_tracefs_text_fields(char *text, char *names, size_t room)
{
	size_t used = 0;
	char *rest = NULL;

	names[0] = 0;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		/* "	field:unsigned long args[6];	offset:16; ..." */
		const size_t type = strcspn(line, ";");
		const char *name;

		if (strncmp(line, FIELD, strlen(FIELD)) != 0 || !line[type])
			continue;
		line[type] = 0;
		name = strrchr(line, ' ');
		if (name && used < room)
			used += (size_t)snprintf(names + used, room - used, "%s%.*s", used ? ", " : "",
						 (int)strcspn(name + 1, "["), name + 1);
	}
}

bool record_tracefs_text_probe(const char *line, struct record_tracefs_probe *probe)
{
	uint64_t pid;
	int group = 0;

	if (!line[0] || line[1] != ':' || sscanf(line + 2, GROUP, &pid, &probe->start, &group) != 2 || !group)
		return false;
	probe->pid = (uint32_t)pid;
	probe->name = line + 2;
	probe->name_size = strcspn(probe->name, " ");
	return probe->name_size > (size_t)group;
}
