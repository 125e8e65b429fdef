/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Puts the runtime into a program that execve has just made: for the recorder's first program, and at a traced process's
 * execve. Needs no libc.
 */
#ifndef RECORD_SOFTWARE_SHARED_INJECT_H
#define RECORD_SOFTWARE_SHARED_INJECT_H

#include <stdint.h>

#include "record/channel/shared/channel.h"
#include "record/software/shared/start.h"

/* Where the runtime is mapped, or a little above: below what the kernel gives, and where sanitizers permit a program's memory. */
#define INJECT_BASE 0x7ea000000000ull

enum inject_result {
	INJECT_DONE = 0,
	INJECT_FAILED = 1,    /* the program does not exist any more, or cannot be traced */
	INJECT_FORMAT = 2,    /* it is no 64-bit program */
	INJECT_NO_ARENA = 3,  /* it may not open the arena */
	INJECT_NO_MEMORY = 4, /* it cannot map the runtime */
};

/*
 * Attaches to process or thread `tid` of another thread group, so that its next execve stops it. 0 or a negative errno.
 */
int64_t software_inject_attach(int32_t tid);

/*
 * Waits until the process that was attached to has executed a program, puts the runtime into it, and lets it go on.
 * *start: what the runtime is to know; arena, base, size, pc, registers and flags are filled in. In all cases the process
 * goes on, as a program without the runtime where there is a reason. `decided`, if not NULL, is called before it goes on.
 */
enum inject_result software_inject_at_exec(const struct channel_config *config, struct runtime_start *start,
					   void (*decided)(enum inject_result result, void *context), void *context);

static inline int64_t software_inject_syscall(int64_t number, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3,
					      uint64_t a4, uint64_t a5)
{
	int64_t result;
	register uint64_t r10 __asm__("r10") = a3;
	register uint64_t r8 __asm__("r8") = a4;
	register uint64_t r9 __asm__("r9") = a5;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(number), "D"(a0), "S"(a1), "d"(a2), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

#endif
