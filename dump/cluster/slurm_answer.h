/* SPDX-License-Identifier: BSD-2-Clause */
/* What Slurm's programs and the merge answer, among lines of warnings. Texts end with a zero byte. */
#ifndef DUMP_CLUSTER_SLURM_ANSWER_H
#define DUMP_CLUSTER_SLURM_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#define DUMP_SLURM_ID_SIZE 24

/* The number of a job that sbatch --parsable prints, "17" or "17;cluster", in the last line that is one. false: there is none. */
bool dump_slurm_job_id(const char *answer, char id[DUMP_SLURM_ID_SIZE]);

/* Whether squeue -o %i lists the job, "17", or one of its array, "17_3". */
bool dump_slurm_is_listed(const char *answer, const char *id);

/* The exit status in the file that the merge leaves, "0\n"; -1: it is none of ptl-dump's, as where a signal ended it. */
int dump_slurm_exit_status(const char *text);

#endif
