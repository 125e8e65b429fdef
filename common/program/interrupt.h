/* SPDX-License-Identifier: BSD-2-Clause */
/* Interruption: noted, so that the half-made output is removed before the program ends. */
#ifndef COMMON_PROGRAM_INTERRUPT_H
#define COMMON_PROGRAM_INTERRUPT_H

/*
 * From now on SIGINT, SIGTERM and SIGHUP are noted, and call cancel, instead of ending the program. cancel runs in the signal
 * handler.
 */
void common_interrupt_catch(void (*cancel)(void *context), void *context);
/* The context is going away: cancel is called no more. */
void common_interrupt_forget(void);
/*
 * So many of the signals that come next only count down: they are a word to what waits. 0: back to the usual.
 */
void common_interrupt_defer(int signals);
/* How many are left. */
int common_interrupt_deferred(void);
/*
 * The first interruption while a pipe is followed may be meant for the pipe's writer, which then writes its last bytes: the second one ends
 * the reading.
 */
#define COMMON_INTERRUPT_PIPE 2
/*
 * As common_interrupt_deferred; says so whenever one more has come and some are still left. *told is how many were left at the call before;
 * set it to those that were deferred before the first one.
 */
int common_interrupt_tell(int *told);
/* PTL_CANCELLED once a signal has come, else 0. */
int common_interrupt_check(void);
/* Ends the program by the signal that was noted, if any. */
void common_interrupt_die(void);

#endif
