/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the uprobe PMU's description in sysfs. */
#include "record/perf/uprobe_pmu.h"

#include <stdio.h>
#include <string.h>

#include "common/program/options.h"

#define PMU "/sys/bus/event_source/devices/uprobe/"

/* Reads the number behind a prefix in a file of the PMU. */
static bool read_number(const char *path, const char *prefix, uint64_t *number)
{
	FILE *file = fopen(path, "re");
	char line[64] = "";
	bool there;

	if (!file)
		return false;
	there = fgets(line, sizeof(line), file) != NULL;
	fclose(file);
	line[strcspn(line, "\n")] = 0;
	return there && !strncmp(line, prefix, strlen(prefix)) && common_parse_u64(line + strlen(prefix), number) == 0;
}

bool record_uprobe_pmu(bool returns, uint32_t *type, uint64_t *config)
{
	uint64_t number, bit;

	if (!read_number(PMU "type", "", &number) || number > UINT32_MAX ||
	    !read_number(PMU "format/retprobe", "config:", &bit) || bit > 63)
		return false;
	*type = (uint32_t)number;
	*config = returns ? 1ull << bit : 0;
	return true;
}
