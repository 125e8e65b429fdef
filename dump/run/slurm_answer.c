/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses lines of sbatch, squeue and the merge. Skips other lines: plugins of a site may print any text. */
#include "dump/run/slurm_answer.h"

#include <string.h>

#include "common/program/message.h"

#define DIGITS "0123456789"

/* Returns the next line; NULL after the last. */
static const char *next_line(const char *line)
{
	const char *end = strchr(line, '\n');

	return end ? end + 1 : NULL;
}

bool dump_slurm_job_id(const char *answer, char id[DUMP_SLURM_ID_SIZE])
{
	bool found = false;

	for (const char *line = answer; line; line = next_line(line)) {
		const size_t digits = strspn(line, DIGITS);

		if (!digits || digits >= DUMP_SLURM_ID_SIZE || (line[digits] && !strchr("\n;", line[digits])))
			continue;
		memcpy(id, line, digits);
		id[digits] = 0;
		found = true;
	}
	return found;
}

bool dump_slurm_is_listed(const char *answer, const char *id)
{
	const size_t size = strlen(id);

	for (const char *line = answer; line; line = next_line(line))
		if (!strncmp(line, id, size) && (!line[size] || strchr("\n_", line[size])))
			return true;
	return false;
}

int dump_slurm_exit_status(const char *text)
{
	return *text >= '0' && *text <= '0' + COMMON_EXIT_SYSTEM && (!text[1] || text[1] == '\n') ? *text - '0' : -1;
}
