/* SPDX-License-Identifier: BSD-2-Clause */
/* Interruption: signals are noted, so that incomplete output is removed before the program ends. */
#ifndef COMMON_PROGRAM_INTERRUPT_H
#define COMMON_PROGRAM_INTERRUPT_H

/*
 * Catches SIGINT, SIGTERM and SIGHUP: notes the signal and calls `cancel`, instead of ending the program. cancel runs
 * in the signal handler.
 */
void common_interrupt_catch(void (*cancel)(void *context), void *context);
/* Stops calling `cancel`. Call before freeing the context. */
void common_interrupt_forget(void);
/*
 * Makes the next `signals` signals decrement a counter instead of cancelling, for a caller that waits. 0: signals
 * cancel again.
 */
void common_interrupt_defer(int signals);
/* Returns the number of deferred signals left. */
int common_interrupt_deferred(void);
/*
 * Signals to defer while a pipe is read. The first interruption may be meant for the pipe's writer, which then writes
 * its last bytes; the second interruption ends the reading.
 */
#define COMMON_INTERRUPT_PIPE 2
/*
 * As common_interrupt_deferred. If a further signal has come and some are still left, also prints a note.
 * *interruptions_left: number left at the previous call; initially the number passed to common_interrupt_defer.
 */
int common_interrupt_tell(int *interruptions_left);
/* Returns PTL_CANCELLED after a signal, else 0. */
int common_interrupt_check(void);
/* Ends the program by the noted signal, if any. */
void common_interrupt_die(void);

#endif
