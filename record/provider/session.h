/* SPDX-License-Identifier: BSD-2-Clause */
/* A recorder's `session` file, and cleaning up after dead recorders. */
#ifndef RECORD_PROVIDER_SESSION_H
#define RECORD_PROVIDER_SESSION_H

#include "provider/session_rules.h"

struct record_provider_session {
	struct provider_shm_session_file file; /* record_provider_session_make sets the slot, and the id if 0 */
	int lock;                              /* locked descriptor of the file; -1 before */
};

/*
 * Takes a free slot for the session. The caller has set rules, flags, ring size and name, and optionally an id. Fails
 * with PTL_SYSTEM if all 32 slots are in use, or if the folder takes no file.
 */
int record_provider_session_make(int folder, struct record_provider_session *session);
/* Writes changed rules. Programs always read either all old or all new rules. Fails with PTL_SYSTEM. */
int record_provider_session_replace(int folder, struct record_provider_session *session);
/* Frees the slot. Programs turn nothing on for the session afterwards. */
void record_provider_session_remove(int folder, struct record_provider_session *session);

/* Reads from the session's own file which rules programs have matched. */
void record_provider_session_answers(struct record_provider_session *session);

/*
 * Reads session.NN. *alive: set if a recorder has locked the file. Fails with PTL_NOT_FOUND if the file is missing or
 * invalid.
 */
int record_provider_session_read(int folder, unsigned slot, struct provider_shm_session_file *file, bool *alive);

/*
 * Removes useless files: sessions of dead recorders, rings of ended sessions, files of ended processes without rings,
 * unfinished files older than a minute.
 */
int record_provider_clean(int folder);
/* Removes only sessions of dead recorders, in the folder of another user, whose recorders clean up other files. */
void record_provider_clean_sessions(int folder);

#endif
