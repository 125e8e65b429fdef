/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signal handlers and threads. Handlers are set only here, and threads are started only here, with all signals blocked:
 * signals are handled by the thread that the program, or the library's caller, reserves for signals.
 */
#ifndef COMMON_SIGNALS_H
#define COMMON_SIGNALS_H

#include <pthread.h>
#include <signal.h>

/*
 * Installs the handler. All other signals are blocked during the handler, unless `flags` has SA_NODEFER. *before,
 * unless NULL, receives the previous action.
 */
void common_signal_catch(int number, void (*handler)(int number), int flags, struct sigaction *before);
/*
 * As common_signal_catch, but a signal that the parent process set to be ignored (nohup, a background job) stays
 * ignored.
 */
void common_signal_catch_unignored(int number, void (*handler)(int number), int flags, struct sigaction *before);
void common_signal_ignore(int number, struct sigaction *before);
/* Restores the previous action. */
void common_signal_restore(int number, const struct sigaction *before);

/* Sets the default action, in a child process, where the parent's handlers are meaningless. */
void common_signal_default(int number);
/* Blocks all signals of the calling thread. *before receives the previous mask, for common_signal_unblock. */
void common_signal_block_all(sigset_t *before);
void common_signal_unblock(const sigset_t *before);

/* Starts a thread, by pthread_create, with all signals blocked. attributes may be NULL. Returns 0 or an errno value. */
int common_thread_start(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *context),
			void *context);

#endif
