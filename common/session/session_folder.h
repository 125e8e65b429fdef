/* SPDX-License-Identifier: BSD-2-Clause */
/* The folder of the sockets of named sessions: owned by the user, closed to others. */
#ifndef COMMON_SESSION_SESSION_FOLDER_H
#define COMMON_SESSION_SESSION_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMMON_SESSION_NAME_MAX 64      /* bytes of a session's name */
#define COMMON_SESSION_SUFFIX ".socket" /* file name suffix in the folder */
#define COMMON_SESSIONS_MAX 64
#define COMMON_SESSION_MESSAGE_MAX (192u << 10)

/* Name of the only session that records kernel events, like NT Kernel Logger. */
#define COMMON_SESSION_KERNEL "kernel"

/*
 * Opens the folder: ptl-record in $XDG_RUNTIME_DIR or /run/user/UID if the user owns this runtime folder, else
 * /tmp/ptl-record-UID. make: creates the folder. PTL_NOT_FOUND: no folder. PTL_SYSTEM: system error, or the folder is
 * not the user's own or is open to others.
 */
int common_session_folder(bool make, int *folder);

/*
 * Checks a session name. "NT Kernel Logger" and its GUID are aliases of "kernel". *name: the text, or a constant.
 * PTL_MISUSE.
 */
int common_session_name(const char *text, const char **name);

/*
 * Calls `visit` with the name of each session that has a socket in the folder, dead or alive. Stops when visit fails.
 */
int common_session_list(int folder, int (*visit)(void *context, const char *name), void *context);

/*
 * Creates the socket of a session and listens on the socket. PTL_SYSTEM: a session with this name runs,
 * COMMON_SESSIONS_MAX sessions run, or the system refuses.
 */
int common_session_listen(int folder, const char *name, int *listener);
/*
 * Closes the caller's listener (-1: already closed) and removes the socket, unless a new session listens under the same
 * name.
 */
void common_session_end(int folder, const char *name, int listener);

/*
 * A callback for waits. wait() is called every COMMON_SESSION_PAUSE while a session is waited for; waited: milliseconds
 * since the wait began. A result other than 0 ends the wait, which returns the result. With a NULL callback or a NULL
 * structure, only the session ends the wait.
 */
struct common_session_wait {
	int (*wait)(void *context, const char *name, uint64_t waited);
	void *context;
};
#define COMMON_SESSION_PAUSE 50 /* milliseconds */
int common_session_wait(const struct common_session_wait *wait, const char *name, uint64_t waited);

/*
 * Connects to a session of the same user. PTL_NOT_FOUND: no such session. Removes a socket without a listener. Waits
 * for a recorder that accepts no connections at the moment because its backlog is full.
 */
int common_session_connect(int folder, const char *name, const struct common_session_wait *wait, int *connection);
/* Whether a session listens under this name. Never waits. */
bool common_session_is_there(int folder, const char *name);
/* Whether the peer of a connection runs as the same user or as root. */
bool common_session_trusts(int connection);

#endif
