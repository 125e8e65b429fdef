/* SPDX-License-Identifier: BSD-2-Clause */
/* Access to a stopped thread: memory, registers, and system calls made by the thread. Needs no libc. */
#ifndef RECORD_SOFTWARE_SHARED_TRACEE_H
#define RECORD_SOFTWARE_SHARED_TRACEE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/user.h>

#include "record/software/shared/inject.h"

struct software_tracee {
	int32_t pid;                  /* thread id */
	struct user_regs_struct regs; /* program's registers */
	/*
	 * Address of a `syscall` instruction in the program, for PTRACE_SYSCALL with PTRACE_O_TRACESYSGOOD. 0: the tracer has
	 * written `syscall; int3` to regs.rip.
	 */
	uint64_t call;
};

/* ptrace(2), without the library's special cases. 0 or a negative errno. */
int64_t software_trace(int64_t request, int32_t pid, uint64_t address, uint64_t data);

bool software_tracee_peek(const struct software_tracee *tracee, uint64_t address, uint64_t *word);
bool software_tracee_poke(const struct software_tracee *tracee, uint64_t address, uint64_t word);
/* Writes whole words: up to 7 bytes behind the last byte become 0. */
bool software_tracee_write(const struct software_tracee *tracee, uint64_t address, const void *bytes, uint64_t size);

/* Waits for the thread's next stop. Returns its wait status; -1: the thread is gone. */
int64_t software_tracee_wait(const struct software_tracee *tracee);

/* Makes a system call in the thread. Returns its result; -ESRCH: the thread is gone. */
int64_t software_tracee_call(const struct software_tracee *tracee, int64_t number, uint64_t a0, uint64_t a1,
			     uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5);

/*
 * Waits until a thread stops after PTRACE_INTERRUPT; pending signals reach the thread first.
 * Returns 1: stopped; 0: ended; -1: not stopped within the time.
 */
int software_tracee_stop(int32_t tid, uint32_t milliseconds);
/*
 * Attaches to the thread and waits for its stop. False: the thread has ended, may not be traced, or does not stop in
 * time.
 */
bool software_tracee_seize(int32_t tid, uint64_t options, uint32_t milliseconds);

/* The kernel's results of interrupted system calls. */
#define INJECT_ERESTARTSYS 512
#define INJECT_ERESTARTNOINTR 513
#define INJECT_ERESTARTNOHAND 514
#define INJECT_ERESTART_RESTARTBLOCK 516

/*
 * Some calls fail with EINTR if a tracer interrupts them without a signal. Replaces the result of such a call, so that
 * the kernel restarts the call unless a signal handler runs.
 */
void software_tracee_mend_call(struct user_regs_struct *regs);

/*
 * Returns how the kernel restarts the system call that the stop interrupted. number: receives the number for the
 * restart. Registers other than RAX and RIP stay.
 */
enum runtime_restart software_tracee_restart(const struct user_regs_struct *regs, uint64_t *number);

/* Continues the thread to its next system call or, inside a call, to the call's end. False: the thread is gone. */
bool software_tracee_next_call(const struct software_tracee *tracee);

/* Returns whether the thread executes 64-bit code. */
bool software_tracee_is_64_bit(const struct software_tracee *tracee);

/*
 * Has the thread open the arena, unless *arena is its descriptor, and map the runtime: fills in descriptor, address and size. path: where the arena's path
 * may be written in the thread's memory.
 */
enum inject_result software_tracee_map_runtime(const struct software_tracee *tracee,
					       const struct channel_config *config, uint64_t path, int32_t *arena,
					       uint64_t *base, uint64_t *size);

/* Copies the registers in the order of their numbers in instructions. */
void software_tracee_registers(const struct user_regs_struct *regs, uint64_t registers[16]);

#endif
