/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fetch arguments of uprobes: registers and memory to record, in the syntax of tracefs
 * (Documentation/trace/uprobetracer.rst).
 */
#ifndef RECORD_KERNEL_EVENT_FETCH_H
#define RECORD_KERNEL_EVENT_FETCH_H

#include "common/bytes.h"

/*
 * Adds " arg1=%di:s32 ..." for the arguments of a probe of sys/sdt.h, "-4@%edi 8@-16(%rbp)"; arg1 is the first.
 * Arguments that the kernel cannot fetch are left out and counted in *left_out.
 */
void kernel_event_fetch_sdt(const char *arguments, struct ptl_bytes *out, unsigned *left_out);

/*
 * Adds the same for "NAME=%di:s32, %si, $arg3:string". The text behind "NAME=" is passed to tracefs, except that $arg1
 * to $arg6 become the registers of a function's first arguments. PTL_MISUSE.
 */
int kernel_event_fetch_words(const char *words, struct ptl_bytes *out);

#endif
