/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code of the kernel in the trace, as images of process 0, which every process sees: what is there when recording begins, and what
 * the kernel changes of it while recording goes on.
 */
#ifndef RECORD_KERNEL_KERNEL_CODE_H
#define RECORD_KERNEL_KERNEL_CODE_H

#include "record/capture/capture.h"
#include "record/session/wait.h"

struct record_kernel_code;

enum record_kernel_wish {
	RECORD_KERNEL_CODE,  /* bytes and names, as --embed has it */
	RECORD_KERNEL_NAMES, /* names of functions alone, for stacks */
};

/*
 * Has the kernel report changes of its code from now on, and then puts all of it into the trace, with the names of its functions:
 * bytes from /proc/kcore, else from the file of the kernel with the same build id; a loss says what is missing, and why. Names alone
 * are read by a thread meanwhile, as events may come. root: a folder that stands for /, or "". capture must live as long.
 * PTL_NO_MEMORY.
 */
int record_kernel_code_open(struct record_capture *capture, const char *root, enum record_kernel_wish wish,
			    struct record_wait *wait, struct record_kernel_code **code);
/* NULL is none. */
void record_kernel_code_close(struct record_kernel_code *code);

/* Takes what was read, and what the kernel has reported up to this time. PTL_NO_MEMORY. */
int record_kernel_code_step(struct record_kernel_code *code, uint64_t until);
/* When it is due: UINT64_MAX if nothing waits. */
uint64_t record_kernel_code_due(const struct record_kernel_code *code);

#endif
