/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the sockets of named sessions are: a folder of the user's, closed to others. */
#ifndef COMMON_SESSION_SESSION_FOLDER_H
#define COMMON_SESSION_SESSION_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMMON_SESSION_NAME_MAX 64      /* bytes of a session's name */
#define COMMON_SESSION_SUFFIX ".socket" /* behind the name, in the folder */
#define COMMON_SESSIONS_MAX 64
#define COMMON_SESSION_MESSAGE_MAX (192u << 10)

/* The one session of the kernel, as NT Kernel Logger is. */
#define COMMON_SESSION_KERNEL "kernel"

/*
 * Opens the folder: ptl-record in $XDG_RUNTIME_DIR or /run/user/UID, else /tmp/ptl-record-UID, whichever is there and is
 * the user's own and closed to others. make: makes it. PTL_NOT_FOUND: there is none, PTL_SYSTEM: it is not safe.
 */
int common_session_folder(bool make, int *folder);

/*
 * Checks the name of a session; "NT Kernel Logger" and its GUID are "kernel". *name is the text, or a constant. PTL_MISUSE.
 */
int common_session_name(const char *text, const char **name);

/* Calls visit with the name of each session that has a socket there, dead or alive, until it fails. */
int common_session_list(int folder, int (*visit)(void *context, const char *name), void *context);

/*
 * Makes the socket of a session and listens on it. PTL_SYSTEM: a session of that name runs, there are 64, or the system refuses.
 */
int common_session_listen(int folder, const char *name, int *listener);
/*
 * Closes the caller's own listener, -1 for one that is closed already, and removes the socket, unless a session that has begun
 * meanwhile listens under the same name.
 */
void common_session_end(int folder, const char *name, int listener);

/*
 * What is called every COMMON_SESSION_PAUSE while a session is waited for, milliseconds since the wait began. A result other than 0 ends
 * the wait, which returns it. NULL, or a wait of NULL: nothing ends it but the session.
 */
struct common_session_wait {
	int (*wait)(void *context, const char *name, uint64_t waited);
	void *context;
};
#define COMMON_SESSION_PAUSE 50 /* milliseconds */
int common_session_wait(const struct common_session_wait *wait, const char *name, uint64_t waited);

/*
 * Connects to a session of the same user; PTL_NOT_FOUND: there is none. A socket that nobody listens on is removed. One whose recorder
 * has more connections than it takes, as it hangs, is waited for.
 */
int common_session_connect(int folder, const char *name, const struct common_session_wait *wait, int *connection);
/* Whether somebody listens under this name; nobody is waited for. */
bool common_session_is_there(int folder, const char *name);
/* Whether the other side of a connection is the same user's, or root's. */
bool common_session_trusts(int connection);

#endif
