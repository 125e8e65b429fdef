/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What Slurm's programs print, and the status that a merge leaves: a number that a later answer of squeue is asked for is one that
 * sbatch printed in a line of its own.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dump/cluster/slurm_answer.h"

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
		/* Both read lines in the same way, but for the cluster. */
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
