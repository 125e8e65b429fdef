/* SPDX-License-Identifier: BSD-2-Clause */
/* A recorder's `session` file, and what recorders that died left behind. */
#ifndef RECORD_PROVIDER_SESSION_H
#define RECORD_PROVIDER_SESSION_H

#include "provider/session_rules.h"

struct record_provider_session {
	struct provider_shm_session_file file; /* the slot is set when it is made, and the id if it is 0 */
	int lock;                              /* the file, locked; -1: not made */
};

/*
 * Takes a free slot for the session, whose rules, flags, ring size and name are set, and its id, if it is not to be a new
 * one. PTL_SYSTEM: all 32 are in use, or the folder takes no file.
 */
int record_provider_session_make(int folder, struct record_provider_session *session);
/* The rules are others now: programs that come to read them see all of them. PTL_SYSTEM. */
int record_provider_session_replace(int folder, struct record_provider_session *session);
/* Gives the slot back: from now on no program turns anything on for it. */
void record_provider_session_remove(int folder, struct record_provider_session *session);

/* Takes from our own file which rules programs have answered to. */
void record_provider_session_answers(struct record_provider_session *session);

/*
 * Reads session.NN; PTL_NOT_FOUND: there is none, or none that is well formed. *alive: its recorder
 * has it locked.
 */
int record_provider_session_read(int folder, unsigned slot, struct provider_shm_session_file *file, bool *alive);

/*
 * Removes what nobody needs any more: sessions of dead recorders, rings of sessions that are gone,
 * files of processes that have ended and left no rings, unfinished files older than a minute.
 */
int record_provider_clean(int folder);
/* Sessions of dead recorders alone: of another user's folder, whose other files that user's recorders look after. */
void record_provider_clean_sessions(int folder);

#endif
