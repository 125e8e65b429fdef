/* SPDX-License-Identifier: BSD-2-Clause */
/* Interruption: noted, so that the half-made output is removed before the program ends. */
#ifndef RELOG_SIGNALS_H
#define RELOG_SIGNALS_H

struct ptl_relogger;

/* From now on SIGINT, SIGTERM and SIGHUP are noted, and cancel the relogger, instead of ending the program. */
void relog_catch_signals(struct ptl_relogger *relogger);
/* The relogger is going away. */
void relog_forget_relogger(void);
/*
 * So many of the signals that come next only count down: they are a word to what waits. 0: back to the usual.
 */
void relog_be_patient(int signals);
/* How many are left. */
int relog_patience(void);
/* PTL_CANCELLED once a signal has come, else 0. */
int relog_check_signals(void);
/* Ends the program by the signal that was noted, if any. */
void relog_die_of_signal(void);

#endif
