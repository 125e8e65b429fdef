/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes output of Slurm's programs, and the status file of a merge. A job number used for squeue must come from a line
 * of its own in sbatch's output.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dump/run/slurm_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_id(const char *answer, const char *id)
{
	const size_t digits = strlen(id);

	if (!digits || digits >= DUMP_SLURM_ID_SIZE || strspn(id, "0123456789") != digits || !strstr(answer, id))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char id[DUMP_SLURM_ID_SIZE], *answer = malloc(size + 1);
	int status;

	if (!answer)
		abort();
	memcpy(answer, data, size);
	answer[size] = 0;
	if (dump_slurm_job_id(answer, id)) {
		check_id(answer, id);
		/* Without a cluster name, both functions parse lines alike. */
		if (!strchr(answer, ';') && !dump_slurm_is_listed(answer, id))
			abort();
	}
	if (dump_slurm_is_listed(answer, "17") && !strstr(answer, "17"))
		abort();
	status = dump_slurm_exit_status(answer);
	if (status < -1 || status > 9)
		abort();
	free(answer);
	return 0;
}
