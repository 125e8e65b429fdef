/* SPDX-License-Identifier: BSD-2-Clause */
/* Signals: parts that catching (signals.c) and delivering (deliver.c) share. */
#ifndef RECORD_SOFTWARE_RUNTIME_SIGNALS_STATE_H
#define RECORD_SOFTWARE_RUNTIME_SIGNALS_STATE_H

#include <ucontext.h>

#include "record/software/runtime/runtime.h"

#define AUTODISARM (1u << 31)
#define BIT(signal) (1ull << ((signal)-1))
/* Signals caused by the current instruction. They are never blocked while a signal is pending. */
#define SYNCHRONOUS (BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGSYS))
#define FP_WORDS_AT 464u

/* The kernel's struct ucontext on the signal stack. */
struct kernel_context {
	uint64_t flags;
	uint64_t link;
	stack_t stack;
	uint64_t regs
		[23]; /* R8 to R15, RDI, RSI, RBP, RBX, RDX, RAX, RCX, RSP, RIP, flags, segments, error, trap, oldmask, CR2 */
	uint64_t fpstate;
	uint64_t reserved[8];
	uint64_t mask;
};

struct kernel_frame {
	uint64_t restorer;
	struct kernel_context context;
	siginfo_t info;
};

/* Index in kernel_context.regs of each register number. */
static const uint8_t runtime_signal_places[16] = {13, 14, 12, 11, 15, 10, 9, 8, 0, 1, 2, 3, 4, 5, 6, 7};
enum { PLACE_RIP = 16, PLACE_FLAGS, PLACE_SEGMENTS, PLACE_ERROR, PLACE_TRAP, PLACE_OLD_MASK, PLACE_CR2 };

/* ---- signals.c ---- */

/* Sets the signals that the kernel blocks for the thread. */
int64_t runtime_signals_set_mask(uint64_t mask);
/* Installs an action in the kernel. */
int64_t runtime_signals_set_native(int signal, const struct runtime_sigaction *action);
/* Installs what stands for an action of the program: the action, or the runtime's handler. */
int64_t runtime_signals_install(int signal, const struct runtime_sigaction *wanted);
/* Returns the action of the thread's process. */
struct runtime_sigaction runtime_signals_action(const struct runtime_thread *thread, int signal);
/* Returns whether the default action ends the process. */
bool runtime_signals_terminate(int signal);
/* Returns whether the default action stops the process. */
bool runtime_signals_stop(int signal);
/* Returns whether sp is within the signal stack. */
bool runtime_signals_within_altstack(const struct runtime_thread *thread, uint64_t sp);
/* Returns whether sp is on the signal stack, which then stays in use. */
bool runtime_signals_on_altstack(const struct runtime_thread *thread, uint64_t sp);

#endif
