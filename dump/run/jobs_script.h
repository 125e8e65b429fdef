/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the work of a command as a shell script of jobs, which any scheduler can run. */
#ifndef DUMP_RUN_JOBS_SCRIPT_H
#define DUMP_RUN_JOBS_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"

/* The work of a command. The caller owns all texts. */
struct dump_cluster_work {
	const char *command, *operand;  /* operand may be NULL */
	const struct ptl_bytes *given;  /* options that determine the result, as in struct dump_options */
	const struct ptl_bytes *passed; /* options that say how to read traces, for the jobs and the merge */
	char *const *files;             /* the traces */
	size_t file_count;
	uint32_t jobs;      /* number of jobs; each job is a shard of all files */
	bool each;          /* instead of `jobs`: one job for each file */
	const char *folder; /* folder of partial results, unless the environment names another */
};

/*
 * Appends the script. Without an argument, the script runs all jobs and the merge. With an argument, it runs the job of
 * this number (from 1), or "merge". Without memory, sets script->failed.
 */
void dump_cluster_script(const struct dump_cluster_work *work, struct ptl_bytes *script);
/* Returns the number of jobs. */
uint32_t dump_cluster_job_count(const struct dump_cluster_work *work);

#endif
