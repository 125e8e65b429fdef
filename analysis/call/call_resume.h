/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames when flow pauses and resumes: in the kernel, in code that is not traced, and in gaps. */
#ifndef ANALYSIS_CALL_CALL_RESUME_H
#define ANALYSIS_CALL_CALL_RESUME_H

struct analysis_fold;

/* Apply a transfer of the kind to the thread's frames. Return 0, the observer's status, or PTL_NO_MEMORY. */
int analysis_fold_far_return(const struct analysis_fold *fold);
int analysis_fold_resume(const struct analysis_fold *fold);
int analysis_fold_go_on(const struct analysis_fold *fold);
void analysis_fold_pause(const struct analysis_fold *fold);

#endif
