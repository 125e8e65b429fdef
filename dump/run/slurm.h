/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the jobs of a command's script on a cluster with Slurm. */
#ifndef DUMP_RUN_SLURM_H
#define DUMP_RUN_SLURM_H

#include "dump/run/jobs_script.h"

/* Options of Slurm. NULL: Slurm's default. */
struct dump_slurm_options {
	const char *partition, *account, *time, *memory; /* in the syntax of sbatch */
	const char *scratch;                             /* folder shared by all nodes; NULL: the current folder */
};

/*
 * Submits an array of jobs and a merge that waits for them, reports progress, resubmits failed jobs, and prints the
 * output of the merge. Returns the exit status of the merge, or of a failure, which has been reported. Sets
 * work->folder.
 */
int dump_slurm_run(struct dump_cluster_work *work, const struct dump_slurm_options *options);

#endif
