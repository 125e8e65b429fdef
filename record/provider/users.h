/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Collects events of programs with providers: for root of all users, otherwise of this user; with --attach-providers of
 * all programs, otherwise of the command's descendants. Each user has a session as in docs/providers.md.
 */
#ifndef RECORD_PROVIDER_USERS_H
#define RECORD_PROVIDER_USERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "provider/session_layout.h"
#include "record/capture/capture.h"
#include "record/observe/observer.h"

struct record_users;

/*
 * Opens sessions with the rules of capture->settings, and makes the next started command a member of this user's
 * session, by an environment variable.
 * observer: gets the programs that write events; NULL without.
 * Fails with PTL_SYSTEM or PTL_NO_MEMORY. Functions below of type int return 0 or PTL_NO_MEMORY.
 */
int record_users_open(struct record_capture *capture, struct record_observer *observer, struct record_users **users);
/* Frees everything. Unfinished files are left for the next recorder. */
void record_users_close(struct record_users *users);

/*
 * Turns a provider on, changes level and keywords, or turns a provider off, by a rule's text. notes: receives messages.
 * Fails with PTL_MISUSE, PTL_NOT_FOUND or PTL_SYSTEM.
 */
int record_users_turn(struct record_users *users, const char *text, bool on, FILE *notes);
/* Returns the i-th active rule; NULL behind the last rule. */
const struct provider_shm_rule *record_users_rule(const struct record_users *users, size_t i);

/* Handles new events of programs. */
int record_users_step(struct record_users *users, uint64_t now);
/* Returns a descriptor that becomes readable for new programs; -1 without. */
int record_users_watch(const struct record_users *users);
/* Returns the maximum milliseconds until the next step. */
unsigned record_users_timeout(const struct record_users *users);

/* Ends the recording: asks for captures of state, turns all providers off, writes the rest, and reports losses. */
int record_users_finish(struct record_users *users);

#endif
