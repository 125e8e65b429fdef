/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes, reads and removes session files; cleans the folder. */
#include "record/provider/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <ptl/trace.h>

#include "common/error.h"
#include "common/file.h"
#include "common/text/guid.h"
#include "provider/names.h"
#include "record/provider/shm_folder.h"

#define LITTER_SECONDS 60

/* ---- creation -------------------------------------------------------------------------------- */

static int random_id(uint64_t *id)
{
	struct ptl_guid guid;
	int status = common_guid_random(&guid);

	if (status < 0)
		return status;
	/* Skips the bits that tell the kind of GUID, in the first byte of the second half. */
	memcpy(id, guid.bytes, 6);
	memcpy((uint8_t *)id + 6, guid.bytes + 9, 2);
	if (!*id)
		*id = 1;
	return 0;
}

/* Checks whether the name still leads to the open file. */
static bool is_named(int folder, const char *name, int fd)
{
	struct stat named, opened;

	return fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &opened) == 0 &&
	       named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

/* Removes the file of a dead recorder. The lock keeps other recorders from doing the same meanwhile. */
static void remove_if_stale(int folder, const char *name)
{
	struct stat info;
	const int fd = record_shm_open_file(folder, name, O_RDONLY, &info);

	if (fd < 0)
		return;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 && is_named(folder, name, fd))
		(void)unlinkat(folder, name, 0);
	close(fd);
}

/* Gives the file to the folder's owner, if another user: programs check the owner. */
static int give_to_user(int folder, int file)
{
	struct stat place;

	if (fstat(folder, &place) < 0)
		return common_fail_errno("the folder of providers");
	if (place.st_uid != geteuid() && fchown(file, place.st_uid, place.st_gid) < 0)
		return common_fail_errno("cannot give a session of providers to user %u", place.st_uid);
	return 0;
}

/* Writes the session for this slot under a temporary name. */
static int write_new(int folder, const char *name, struct record_provider_session *session, unsigned slot)
{
	struct provider_shm_session *header = &session->file.session;
	int status;

	header->magic = PROVIDER_SHM_SESSION_MAGIC;
	header->version = PROVIDER_SHM_VERSION;
	header->size = (uint32_t)(sizeof(*header) + header->rule_count * sizeof(session->file.rules[0]));
	header->slot = slot;
	header->recorder = (uint32_t)getpid();
	header->clock = PTL_CLOCK_MONOTONIC;
	session->lock = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
	if (session->lock < 0)
		return common_fail_errno("cannot make a session of providers");
	status = give_to_user(folder, session->lock);
	if (status == 0)
		status = common_write_all(session->lock, &session->file, header->size);
	if (status == 0 && flock(session->lock, LOCK_EX | LOCK_NB) < 0)
		status = common_fail_errno("cannot lock a session of providers");
	if (status == 0)
		return 0;
	close(session->lock);
	session->lock = -1;
	(void)unlinkat(folder, name, 0);
	return status;
}

/* Returns PTL_NOT_FOUND if the slot is in use. */
static int take_slot(int folder, struct record_provider_session *session, unsigned slot)
{
	char name[PROVIDER_SHM_NAME_SIZE], new[PROVIDER_SHM_NAME_SIZE];
	int status;

	provider_name_session(name, slot);
	if (faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return PTL_NOT_FOUND;
	provider_name_new(new, session->file.session.id);
	status = write_new(folder, new, session, slot);
	if (status < 0)
		return status;
	/* linkat gives the slot to only one of two competing recorders. */
	if (linkat(folder, new, folder, name, 0) == 0) {
		(void)unlinkat(folder, new, 0);
		return 0;
	}
	status = errno == EEXIST ? PTL_NOT_FOUND : common_fail_errno("cannot make %s", name);
	(void)unlinkat(folder, new, 0);
	close(session->lock);
	session->lock = -1;
	return status;
}

int record_provider_session_make(int folder, struct record_provider_session *session)
{
	int status = session->file.session.id ? 0 : random_id(&session->file.session.id);

	session->lock = -1;
	for (unsigned slot = 0; status == 0 && slot < PTL_SESSIONS_MAX; slot++) {
		status = take_slot(folder, session, slot);
		if (status == 0)
			return 0;
		if (status == PTL_NOT_FOUND)
			status = 0;
	}
	return status < 0 ? status
			  : common_fail(PTL_SYSTEM, "all %d sessions of providers are in use", PTL_SESSIONS_MAX);
}

int record_provider_session_replace(int folder, struct record_provider_session *session)
{
	char name[PROVIDER_SHM_NAME_SIZE], new[PROVIDER_SHM_NAME_SIZE];
	const unsigned slot = session->file.session.slot;
	const int before = session->lock;
	int status;

	provider_name_session(name, slot);
	provider_name_new(new, session->file.session.id);
	status = write_new(folder, new, session, slot);
	if (status == 0 && renameat(folder, new, folder, name) < 0) {
		status = common_fail_errno("cannot change %s", name);
		(void)unlinkat(folder, new, 0);
		close(session->lock);
	}
	if (status < 0)
		session->lock = before;
	else
		close(before);
	return status;
}

void record_provider_session_remove(int folder, struct record_provider_session *session)
{
	char name[PROVIDER_SHM_NAME_SIZE];

	if (session->lock < 0)
		return;
	provider_name_session(name, session->file.session.slot);
	if (is_named(folder, name, session->lock))
		(void)unlinkat(folder, name, 0);
	close(session->lock);
	session->lock = -1;
}

void record_provider_session_answers(struct record_provider_session *session)
{
	for (uint32_t i = 0; session->lock >= 0 && i < session->file.session.rule_count; i++) {
		struct provider_shm_rule *rule = &session->file.rules[i];
		uint8_t answered = 0;

		if (pread(session->lock, &answered, sizeof(answered),
			  (off_t)((uint8_t *)&rule->answered - (uint8_t *)&session->file)) == 1 &&
		    answered)
			rule->answered = 1;
	}
}

int record_provider_session_read(int folder, unsigned slot, struct provider_shm_session_file *file, bool *alive)
{
	char name[PROVIDER_SHM_NAME_SIZE];
	struct stat info;
	bool valid;
	ssize_t n;
	int fd;

	provider_name_session(name, slot);
	fd = record_shm_open_file(folder, name, O_RDONLY, &info);
	if (fd < 0)
		return PTL_NOT_FOUND;
	n = pread(fd, file, sizeof(*file), 0);
	valid = n >= 0 && n == info.st_size && provider_shm_session_valid(file, (size_t)n, slot);
	*alive = flock(fd, LOCK_SH | LOCK_NB) < 0;
	close(fd);
	return valid ? 0 : PTL_NOT_FOUND;
}

/* ---- cleaning -------------------------------------------------------------------------------- */

void record_provider_clean_sessions(int folder)
{
	char name[PROVIDER_SHM_NAME_SIZE];

	for (unsigned slot = 0; slot < PTL_SESSIONS_MAX; slot++) {
		provider_name_session(name, slot);
		remove_if_stale(folder, name);
	}
}

struct sweep {
	int folder;
	uint64_t ids[PTL_SESSIONS_MAX]; /* ids of living sessions by slot; 0 without */
	uint32_t pid;                   /* pid of the process whose rings are searched */
	uint64_t process;
};

static void read_sessions(struct sweep *sweep)
{
	struct provider_shm_session_file file;
	bool alive;

	for (unsigned slot = 0; slot < PTL_SESSIONS_MAX; slot++)
		sweep->ids[slot] = record_provider_session_read(sweep->folder, slot, &file, &alive) == 0 && alive
					   ? file.session.id
					   : 0;
}

static bool is_alive(const struct sweep *sweep, uint64_t session)
{
	for (unsigned slot = 0; slot < PTL_SESSIONS_MAX; slot++)
		if (sweep->ids[slot] == session)
			return true;
	return false;
}

static bool is_old(const struct stat *info)
{
	return time(NULL) - info->st_ctime > LITTER_SECONDS;
}

static int sweep_first(void *context, const char *text, const struct record_shm_name *name)
{
	const struct sweep *sweep = context;
	struct stat info;

	if (name->kind == RECORD_SHM_SESSION)
		remove_if_stale(sweep->folder, text);
	else if (name->kind == RECORD_SHM_NEW && fstatat(sweep->folder, text, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
		 is_old(&info))
		(void)unlinkat(sweep->folder, text, 0);
	return 0;
}

/* Checks whether the process of the files has ended, by its `process` file. */
static bool has_ended(const struct sweep *sweep, uint32_t pid, uint64_t process)
{
	char text[PROVIDER_SHM_NAME_SIZE];
	struct stat info;

	provider_name_process(text, pid, process);
	if (fstatat(sweep->folder, text, &info, AT_SYMLINK_NOFOLLOW) < 0)
		return true;
	return record_shm_has_ended(pid, &info);
}

/*
 * Removes rings of ended sessions. An ending recorder removes its session first and its rings slightly later: while the
 * program lives, only old files are removed.
 */
static int sweep_rings(void *context, const char *text, const struct record_shm_name *name)
{
	const struct sweep *sweep = context;
	struct stat info;

	if (name->kind != RECORD_SHM_RINGS || is_alive(sweep, name->session))
		return 0;
	if (fstatat(sweep->folder, text, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (is_old(&info) || has_ended(sweep, name->pid, name->process)))
		(void)unlinkat(sweep->folder, text, 0);
	return 0;
}

static int find_rings(void *context, const char *text, const struct record_shm_name *name)
{
	const struct sweep *sweep = context;

	(void)text;
	return name->kind == RECORD_SHM_RINGS && name->pid == sweep->pid && name->process == sweep->process;
}

static int sweep_processes(void *context, const char *text, const struct record_shm_name *name)
{
	struct sweep *sweep = context;

	if (name->kind != RECORD_SHM_PROCESS)
		return 0;
	sweep->pid = name->pid;
	sweep->process = name->process;
	if (has_ended(sweep, name->pid, name->process) && record_shm_list(sweep->folder, find_rings, sweep) == 0)
		(void)unlinkat(sweep->folder, text, 0);
	return 0;
}

int record_provider_clean(int folder)
{
	struct sweep sweep = {.folder = folder};
	int status = record_shm_list(folder, sweep_first, &sweep);

	read_sessions(&sweep);
	if (status == 0)
		status = record_shm_list(folder, sweep_rings, &sweep);
	if (status == 0)
		status = record_shm_list(folder, sweep_processes, &sweep);
	return status;
}
