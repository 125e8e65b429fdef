/* SPDX-License-Identifier: BSD-2-Clause */
/* The jobs of a command's script on a cluster with Slurm. */
#ifndef DUMP_CLUSTER_SLURM_H
#define DUMP_CLUSTER_SLURM_H

#include "dump/cluster/jobs_script.h"

/* NULL: Slurm's own default. */
struct dump_slurm_options {
	const char *partition, *account, *time, *memory; /* as sbatch takes them */
	const char *scratch;                             /* a folder that all nodes share; NULL: the current one */
};

/*
 * Submits an array of jobs and a merge that waits for them, follows them, submits again what failed, and prints what the merge
 * has printed. The exit status of the merge, or that of a failure, which has been reported. work->folder is set here.
 */
int dump_slurm_run(struct dump_cluster_work *work, const struct dump_slurm_options *options);

#endif
