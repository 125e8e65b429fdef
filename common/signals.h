/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one place where handlers of signals are set, and where threads are started, which get none: signals belong to the
 * thread that the program, or a caller of ours, has for them.
 */
#ifndef COMMON_SIGNALS_H
#define COMMON_SIGNALS_H

#include <pthread.h>
#include <signal.h>

/*
 * Has the handler called, with all other signals blocked unless flags have SA_NODEFER. *before (unless NULL) becomes what
 * was set until now.
 */
void common_signal_catch(int number, void (*handler)(int number), int flags, struct sigaction *before);
/* The same, but what our parent has us ignore (nohup, a job in the background) stays ignored. */
void common_signal_catch_unignored(int number, void (*handler)(int number), int flags, struct sigaction *before);
void common_signal_ignore(int number, struct sigaction *before);
/* Puts back what was set before. */
void common_signal_restore(int number, const struct sigaction *before);

/* Sets the kernel's own action for the signal, in a child process to which the parent's handlers mean nothing. */
void common_signal_default(int number);
/* Blocks all signals of the calling thread. *before becomes its mask, for common_signal_unblock. */
void common_signal_block_all(sigset_t *before);
void common_signal_unblock(const sigset_t *before);

/* pthread_create of a thread that gets no signals; attributes may be NULL. 0, or an errno. */
int common_thread_start(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *context),
			void *context);

#endif
