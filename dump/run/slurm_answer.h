/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses the output of Slurm's programs and of the merge, which may contain lines of warnings. Texts are
 * zero-terminated.
 */
#ifndef DUMP_RUN_SLURM_ANSWER_H
#define DUMP_RUN_SLURM_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#define DUMP_SLURM_ID_SIZE 24

/*
 * Finds the job id that sbatch --parsable prints, "17" or "17;cluster", in the last line of this form. Returns false if
 * no line has a job id.
 */
bool dump_slurm_job_id(const char *answer, char id[DUMP_SLURM_ID_SIZE]);

/* Whether the output of squeue -o %i lists the job, "17", or a job of its array, "17_3". */
bool dump_slurm_is_listed(const char *answer, const char *id);

/*
 * Parses the exit status in the file that the merge writes, "0\n". Returns -1 if the number is no exit status of
 * ptl-dump, as after a signal.
 */
int dump_slurm_exit_status(const char *text);

#endif
