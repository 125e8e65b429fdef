/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's code in the trace, as images of process 0, which all processes share: existing code at the start of the
 * recording, and later changes.
 */
#ifndef RECORD_KERNEL_CODE_KERNEL_CODE_H
#define RECORD_KERNEL_CODE_KERNEL_CODE_H

#include "record/capture/capture.h"
#include "record/session/wait.h"

struct record_kernel_code;

enum record_kernel_wish {
	RECORD_KERNEL_CODE,  /* bytes and names, as --embed selects */
	RECORD_KERNEL_NAMES, /* function names only, for stacks */
};

/*
 * Starts the kernel's reports of code changes, and then writes the existing code and function names to the trace. Bytes
 * come from /proc/kcore, or from the kernel's file with the same build id. A loss tells missing code and the cause. For
 * names only, a thread reads the names while events may already arrive.
 * root: folder in place of /, or "". capture: outlives the result. Fails with PTL_NO_MEMORY.
 */
int record_kernel_code_open(struct record_capture *capture, const char *root, enum record_kernel_wish wish,
			    struct record_wait *wait, struct record_kernel_code **code);
/* Accepts NULL. */
void record_kernel_code_close(struct record_kernel_code *code);

/* Sends existing code after reading, and reported changes up to `until`. Fails with PTL_NO_MEMORY. */
int record_kernel_code_step(struct record_kernel_code *code, uint64_t until);
/* Returns the time of the next step; UINT64_MAX if nothing waits. */
uint64_t record_kernel_code_due(const struct record_kernel_code *code);

#endif
