/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Puts the runtime into a program right after execve: into the recorder's command, and at each execve of a traced
 * process. Needs no libc.
 */
#ifndef RECORD_SOFTWARE_SHARED_INJECT_H
#define RECORD_SOFTWARE_SHARED_INJECT_H

#include <stdint.h>

#include "record/channel/shared/channel.h"
#include "record/software/shared/start.h"

/*
 * Address for the runtime, or slightly below the final address: below the kernel's own choices, and in a range that
 * sanitizers permit.
 */
#define INJECT_BASE 0x7ea000000000ull

enum inject_result {
	INJECT_DONE = 0,
	INJECT_FAILED = 1,    /* the program cannot be traced */
	INJECT_FORMAT = 2,    /* not a 64-bit program */
	INJECT_NO_ARENA = 3,  /* the program may not open the arena */
	INJECT_NO_MEMORY = 4, /* the program cannot map the runtime */
	INJECT_ENDED = 5,     /* the program was killed before its first instruction */
};

/*
 * Attaches to the process or thread `tid` of another thread group, so that its next execve stops it. Returns 0 or a
 * negative errno.
 */
int64_t software_inject_attach(int32_t tid);

/*
 * Waits until an attached process has executed a program, puts the runtime into the program, and lets it continue.
 * After a failure the program continues without the runtime.
 * *start: data for the runtime; this function sets arena, base, size, pc, registers and flags. decided: called before
 * the program continues; may be NULL.
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
