/* SPDX-License-Identifier: BSD-2-Clause */
/* The work of a command as a shell script of jobs: what any scheduler can run. */
#ifndef DUMP_CLUSTER_JOBS_SCRIPT_H
#define DUMP_CLUSTER_JOBS_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"

/* What has to be done. Texts are the caller's. */
struct dump_cluster_work {
	const char *command, *operand;  /* operand may be NULL */
	const struct ptl_bytes *given;  /* the options of the result, as in struct dump_options */
	const struct ptl_bytes *passed; /* those of reading, for jobs and their merge */
	char *const *files;             /* the traces */
	size_t file_count;
	uint32_t jobs;      /* each a shard of all files */
	bool each;          /* instead: each job has one of the files */
	const char *folder; /* where partial results lie, unless the environment says otherwise */
};

/*
 * Appends the script. It does all jobs and the merge or, given an argument, the job of this number (from 1 on), or "merge".
 * A failed allocation is left in script->failed.
 */
void dump_cluster_script(const struct dump_cluster_work *work, struct ptl_bytes *script);
/* How many jobs it has. */
uint32_t dump_cluster_job_count(const struct dump_cluster_work *work);

#endif
