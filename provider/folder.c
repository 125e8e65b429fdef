/* SPDX-License-Identifier: BSD-2-Clause */
/* The session folder and its files, from a program's view. Safe in signal handlers. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "provider/names.h"
#include "provider/state.h"

static bool private_to_user(const struct stat *status)
{
	return status->st_uid == geteuid() && !(status->st_mode & (S_IRWXG | S_IRWXO));
}

bool provider_folder_make(const char *path, bool *made)
{
	*made = mkdir(path, S_IRWXU) == 0;
	return *made || errno == EEXIST;
}

int provider_folder_open(const char *path)
{
	struct stat status;
	int folder;

	folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return -1;
	if (fstat(folder, &status) || !private_to_user(&status)) {
		close(folder);
		errno = EACCES;
		return -1;
	}
	return folder;
}

/* A living recorder holds an exclusive lock on its file. */
static bool recorder_is_dead(int file)
{
	return flock(file, LOCK_SH | LOCK_NB) == 0;
}

bool provider_folder_session(int folder, unsigned slot, struct provider_shm_session_file *file)
{
	char name[PROVIDER_SHM_NAME_SIZE];
	struct stat status;
	bool valid = false;
	int session;

	provider_name_session(name, slot);
	session = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (session < 0)
		return false;
	if (fstat(session, &status) == 0 && S_ISREG(status.st_mode) && private_to_user(&status) &&
	    status.st_size >= 0 && (size_t)status.st_size <= sizeof(*file)) {
		ssize_t size = pread(session, file, sizeof(*file), 0);

		valid = size == status.st_size && provider_shm_session_valid(file, (size_t)size, slot) &&
			!recorder_is_dead(session);
	}
	close(session);
	return valid;
}

void provider_folder_answer(int folder, const struct provider_shm_session_file *file,
			    const struct provider_shm_identity *provider)
{
	static const uint8_t yes = 1;
	char path[PROVIDER_SHM_NAME_SIZE];
	struct provider_shm_session now;
	int session = -1;

	for (uint32_t i = 0; i < file->session.rule_count; i++) {
		const struct provider_shm_rule *rule = &file->rules[i];

		if (rule->answered || !provider_shm_rule_matches(rule, provider))
			continue;
		if (session < 0) {
			provider_name_session(path, file->session.slot);
			session = openat(folder, path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
			/* A new session may have the slot by now: do not extend its file. */
			if (session < 0 || pread(session, &now, sizeof(now), 0) != sizeof(now) ||
			    now.id != file->session.id || now.rule_count != file->session.rule_count)
				break;
		}
		(void)provider_write_at(session, &yes, sizeof(yes),
					(uint64_t)((const uint8_t *)&rule->answered - (const uint8_t *)file));
	}
	if (session >= 0)
		close(session);
}

int provider_folder_new_file(int folder, char name[PROVIDER_SHM_NAME_SIZE])
{
	provider_name_new(name, provider_random());
	return openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
}

bool provider_write_at(int file, const void *bytes, size_t size, uint64_t offset)
{
	const uint8_t *at = bytes;

	while (size) {
		ssize_t written = pwrite(file, at, size, (off_t)offset);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return false;
		at += written;
		size -= (size_t)written;
		offset += (uint64_t)written;
	}
	return true;
}
