/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Collects the events of programs with providers: those of this user, and for root those of all users, with --attach-providers of
 * any program, else of the command's descendants. A session of docs/providers.md for each user.
 */
#ifndef RECORD_PROVIDER_USERS_H
#define RECORD_PROVIDER_USERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "provider/session_layout.h"
#include "record/capture/capture.h"
#include "record/kernel/observer.h"

struct record_users;

/*
 * Opens sessions with the rules of capture->settings, and makes the command that is started from
 * now on a member of this user's (by our own environment). observer: gets the programs that write
 * events; NULL: nobody. PTL_SYSTEM, PTL_NO_MEMORY. All functions below that return an int return 0
 * or PTL_NO_MEMORY.
 */
int record_users_open(struct record_capture *capture, struct record_observer *observer, struct record_users **users);
/* Gives back everything; what was not finished is left to the next recorder. */
void record_users_close(struct record_users *users);

/*
 * Turns a provider on, or gives it another level and keywords, or off, by the text of a rule; what there is to say goes to
 * notes. PTL_MISUSE, PTL_NOT_FOUND, PTL_SYSTEM.
 */
int record_users_turn(struct record_users *users, const char *text, bool on, FILE *notes);
/* The i-th rule that is on; NULL: there are no more. */
const struct provider_shm_rule *record_users_rule(const struct record_users *users, size_t i);

/* Takes what programs have written. */
int record_users_step(struct record_users *users, uint64_t now);
/* Becomes readable when there is a program that may be new; -1: nothing does. */
int record_users_watch(const struct record_users *users);
/* How many milliseconds to sleep at most until the next step. */
unsigned record_users_timeout(const struct record_users *users);

/* The end: asks for captures of state, turns everything off, takes what is left, reports losses. */
int record_users_finish(struct record_users *users);

#endif
