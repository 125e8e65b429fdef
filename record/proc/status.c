/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/proc/status.h"

#include <stdio.h>
#include <string.h>

#define LINE_MAX_SIZE 512

bool record_proc_status(const char *path, struct record_proc_status *status)
{
	char line[LINE_MAX_SIZE];
	FILE *file;

	*status = (struct record_proc_status){0};
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "State: %c", &status->state);
		sscanf(line, "Tgid: %u", &status->leader);
		sscanf(line, "TracerPid: %u", &status->tracer);
		sscanf(line, "Uid: %u %u", &status->real_user, &status->effective_user);
		sscanf(line, "Seccomp: %u", &status->seccomp);
		sscanf(line, "Seccomp_filters: %u", &status->filters);
		status->has_memory |= !strncmp(line, "VmSize:", 7);
		status->has_shadow_stack |= !strncmp(line, "x86_Thread_features:", 20) && strstr(line, "shstk");
	}
	fclose(file);
	return status->state != 0;
}
