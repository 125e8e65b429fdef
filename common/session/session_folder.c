/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the folder of sockets; creates, finds and removes sockets. */
#include "common/session/session_folder.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"

#define LOCK ".lock"
#define FILE_NAME_SIZE (COMMON_SESSION_NAME_MAX + sizeof(COMMON_SESSION_SUFFIX))
#define BACKLOG 16

/* ---- the folder ------------------------------------------------------------------------------ */

static bool is_private(int fd, uid_t user)
{
	struct stat info;

	return fstat(fd, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == user &&
	       !(info.st_mode & (S_IRWXG | S_IRWXO));
}

/*
 * Finds the user's runtime folder, the parent of the sockets' folder, which must belong to the user. Returns false if
 * there is no such folder.
 */
static bool find_runtime(char *path, size_t size)
{
	const char *named = getenv("XDG_RUNTIME_DIR");
	struct stat info;

	if (named && *named == '/')
		snprintf(path, size, "%s", named);
	else
		snprintf(path, size, "/run/user/%u", (unsigned)geteuid());
	return strlen(path) + 1 < size && stat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
	       !(info.st_mode & (S_IWGRP | S_IWOTH));
}

int common_session_folder(bool make, int *folder)
{
	char runtime[3000], path[4096];

	if (find_runtime(runtime, sizeof(runtime)))
		snprintf(path, sizeof(path), "%s/ptl-record", runtime);
	else
		snprintf(path, sizeof(path), "/tmp/ptl-record-%u", (unsigned)geteuid());
	if (make && mkdir(path, S_IRWXU) < 0 && errno != EEXIST)
		return common_fail_errno("cannot make %s", path);
	*folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*folder < 0 && errno == ENOENT)
		return common_fail(PTL_NOT_FOUND, "there are no sessions");
	if (*folder < 0)
		return common_fail_errno("%s", path);
	if (is_private(*folder, geteuid()))
		return 0;
	close(*folder);
	return common_fail(PTL_SYSTEM,
			   "%s is not this user's alone: sessions cannot be there; set XDG_RUNTIME_DIR to a "
			   "folder of mode 0700",
			   path);
}

/* ---- names ----------------------------------------------------------------------------------- */

int common_session_name(const char *text, const char **name)
{
	static const char *const kernel[] = {COMMON_SESSION_KERNEL, "NT Kernel Logger",
					     "9e814aad-3204-11d2-9a82-006008a86939",
					     "{9e814aad-3204-11d2-9a82-006008a86939}"};
	const size_t size = strlen(text);

	*name = COMMON_SESSION_KERNEL;
	for (size_t i = 0; i < sizeof(kernel) / sizeof(kernel[0]); i++)
		if (!strcasecmp(text, kernel[i]))
			return 0;
	*name = text;
	for (size_t i = 0; i < size; i++)
		if (!isascii((unsigned char)text[i]) ||
		    (!isalnum((unsigned char)text[i]) && (!strchr("._-", text[i]) || !i)))
			return common_fail(PTL_MISUSE,
					   "'%s' is no name of a session: letters, digits, and . _ - behind "
					   "the first one",
					   text);
	if (!size || size > COMMON_SESSION_NAME_MAX)
		return common_fail(PTL_MISUSE, "a session's name has 1 to %d letters", COMMON_SESSION_NAME_MAX);
	return 0;
}

static void file_of(const char *name, char file[FILE_NAME_SIZE])
{
	snprintf(file, FILE_NAME_SIZE, "%s" COMMON_SESSION_SUFFIX, name);
}

int common_session_list(int folder, int (*visit)(void *context, const char *name), void *context)
{
	const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	int status = 0;

	if (!entries) {
		status = common_fail_errno("cannot list sessions");
		if (copy >= 0)
			close(copy);
		return status;
	}
	while (status == 0 && (entry = readdir(entries))) {
		char name[FILE_NAME_SIZE];
		const size_t size = strlen(entry->d_name), suffix = strlen(COMMON_SESSION_SUFFIX);

		if (size <= suffix || size >= sizeof(name) ||
		    strcmp(entry->d_name + size - suffix, COMMON_SESSION_SUFFIX) != 0)
			continue;
		memcpy(name, entry->d_name, size - suffix);
		name[size - suffix] = 0;
		status = visit(context, name);
	}
	closedir(entries);
	return status;
}

/* ---- sockets --------------------------------------------------------------------------------- */

/* Uses a path through the open folder, as a socket's path has room for only 107 bytes. */
static void address_of(int folder, const char *name, struct sockaddr_un *address)
{
	char file[FILE_NAME_SIZE];

	file_of(name, file);
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d/%.80s", folder, file);
}

bool common_session_trusts(int connection)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

static void unlink_socket(int folder, const char *name)
{
	char file[FILE_NAME_SIZE];

	file_of(name, file);
	(void)unlinkat(folder, file, 0);
}

/*
 * Checks the peer of a new connection, and makes the connection blocking, so that the client can wait for the answer.
 */
static int take_connection(const char *name, int connection)
{
	if (!common_session_trusts(connection))
		return common_fail(PTL_SYSTEM, "session %s is another user's", name);
	if (fcntl(connection, F_SETFL, fcntl(connection, F_GETFL) & ~O_NONBLOCK) < 0)
		return common_fail_errno("cannot reach session %s", name);
	return 0;
}

/* Connects without waiting. PTL_NOT_FOUND: no listener. *busy: the listener's backlog is full. */
static int try_connect(int folder, const char *name, int *connection, bool *busy)
{
	struct sockaddr_un address;
	int error, status;

	*busy = false;
	address_of(folder, name, &address);
	*connection = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*connection < 0)
		return common_fail_errno("cannot make a socket");
	if (connect(*connection, (const struct sockaddr *)&address, sizeof(address)) == 0) {
		status = take_connection(name, *connection);
		if (status < 0)
			close(*connection);
		return status;
	}
	error = errno;
	close(*connection);
	errno = error;
	*busy = error == EAGAIN;
	if (error == ENOENT || error == ECONNREFUSED)
		return common_fail(PTL_NOT_FOUND, "there is no session %s", name);
	return common_fail_errno("cannot reach session %s", name);
}

/*
 * Locks the folder. A process that creates or removes sockets holds the lock, so that a new socket is not mistaken for
 * a dead session's socket.
 */
static int lock_folder(int folder)
{
	const int lock = openat(folder, LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);

	if (lock >= 0 && flock(lock, LOCK_EX) == 0)
		return lock;
	if (lock >= 0)
		close(lock);
	return common_fail_errno("cannot lock the folder of sessions");
}

/* Connects without waiting; removes a socket without a listener. */
static int connect_once(int folder, const char *name, int *connection, bool *busy)
{
	int status = try_connect(folder, name, connection, busy);
	int lock;

	if (status != PTL_NOT_FOUND)
		return status;
	lock = lock_folder(folder);
	if (lock < 0)
		return lock;
	status = try_connect(folder, name, connection, busy);
	if (status == PTL_NOT_FOUND)
		unlink_socket(folder, name);
	close(lock);
	return status;
}

bool common_session_is_there(int folder, const char *name)
{
	int connection;
	bool busy;
	const int status = connect_once(folder, name, &connection, &busy);

	if (status == 0)
		close(connection);
	return status != PTL_NOT_FOUND;
}

int common_session_wait(const struct common_session_wait *wait, const char *name, uint64_t waited)
{
	return wait && wait->wait ? wait->wait(wait->context, name, waited) : 0;
}

int common_session_connect(int folder, const char *name, const struct common_session_wait *wait, int *connection)
{
	const struct timespec pause = {.tv_nsec = COMMON_SESSION_PAUSE * 1000000};
	bool busy;
	int status, ended = 0;

	for (uint64_t waited = 0;; waited += COMMON_SESSION_PAUSE) {
		status = connect_once(folder, name, connection, &busy);
		if (busy)
			ended = common_session_wait(wait, name, waited);
		if (!busy || ended)
			return busy ? ended : status;
		nanosleep(&pause, NULL);
	}
}

/*
 * A name is free as soon as its listener is closed: a new session may own the socket when the folder is locked. So the
 * socket is removed only if it has no listener.
 */
void common_session_end(int folder, const char *name, int listener)
{
	if (listener >= 0)
		close(listener);
	(void)common_session_is_there(folder, name);
}

struct census {
	int folder;
	unsigned alive;
};

static int count_session(void *context, const char *name)
{
	struct census *census = context;
	bool busy;
	int connection;
	const int status = try_connect(census->folder, name, &connection, &busy);

	if (status == PTL_NOT_FOUND)
		unlink_socket(census->folder, name);
	if (status == 0)
		close(connection);
	census->alive += status == 0 || busy;
	return 0;
}

static int make_socket(int folder, const char *name, int *listener)
{
	struct sockaddr_un address;
	struct census census = {.folder = folder};
	int status = common_session_list(folder, count_session, &census);

	if (status < 0)
		return status;
	if (census.alive >= COMMON_SESSIONS_MAX)
		return common_fail(PTL_SYSTEM, "there are %d sessions, and there cannot be more", COMMON_SESSIONS_MAX);
	address_of(folder, name, &address);
	*listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*listener < 0)
		return common_fail_errno("cannot make a socket");
	if (bind(*listener, (const struct sockaddr *)&address, sizeof(address)) == 0 && listen(*listener, BACKLOG) == 0)
		return 0;
	status = errno == EADDRINUSE
			 ? common_fail(PTL_SYSTEM, "a session %s runs; ptl-record stop %s ends it", name, name)
			 : common_fail_errno("cannot make the socket of session %s", name);
	close(*listener);
	return status;
}

int common_session_listen(int folder, const char *name, int *listener)
{
	const int lock = lock_folder(folder);
	int status;

	if (lock < 0)
		return lock;
	status = make_socket(folder, name, listener);
	close(lock);
	return status;
}
