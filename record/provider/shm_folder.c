/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the session folder and its files. Names and files are untrusted. */
#include "record/provider/shm_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/error.h"
#include "provider/names.h"
#include "record/proc/proc_files.h"

#define ID_DIGITS 16

static bool is_private(const struct stat *info, uint32_t user)
{
	return info->st_uid == user && !(info->st_mode & (S_IRWXG | S_IRWXO));
}

/* Opens the folder; *folder is -1 with errno after a failure. Checks that the folder belongs to this user alone. */
static bool open_private(const char *path, uint32_t user, int *folder)
{
	struct stat info;

	*folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *folder >= 0 && fstat(*folder, &info) == 0 && is_private(&info, user);
}

int record_shm_open(bool make, char *path, int *folder)
{
	const char *named = secure_getenv(PROVIDER_SHM_FOLDER_VARIABLE);

	if (named && *named)
		snprintf(path, RECORD_SHM_PATH_SIZE, "%s", named);
	else
		provider_name_folder(path, geteuid());
	if (make && mkdir(path, S_IRWXU) < 0 && errno != EEXIST)
		return common_fail_errno("cannot make the folder of providers, %s", path);
	if (open_private(path, geteuid(), folder))
		return 0;
	if (*folder < 0 && errno == ENOENT)
		return common_fail(PTL_NOT_FOUND, "there is no folder %s", path);
	if (*folder < 0)
		return common_fail_errno("cannot open the folder of providers, %s", path);
	close(*folder);
	*folder = -1;
	return common_fail(PTL_SYSTEM,
			   "the folder of providers, %s, is not this user's alone: it must belong to "
			   "user %u and have mode 0700",
			   path, (unsigned)geteuid());
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool take_number(const char **at, uint32_t *number)
{
	uint64_t value = 0;
	const char *start = *at;

	for (; **at >= '0' && **at <= '9' && value <= UINT32_MAX; (*at)++)
		value = value * 10 + (uint64_t)(**at - '0');
	*number = (uint32_t)value;
	return *at > start && value <= UINT32_MAX;
}

static bool take_id(const char **at, uint64_t *id)
{
	*id = 0;
	for (int i = 0; i < ID_DIGITS; i++, (*at)++) {
		const char *digits = "0123456789abcdef", *digit = strchr(digits, **at);

		if (!**at || !digit)
			return false;
		*id = *id << 4 | (uint64_t)(digit - digits);
	}
	return true;
}

static bool take_text(const char **at, const char *text)
{
	const size_t length = strlen(text);

	if (strncmp(*at, text, length) != 0)
		return false;
	*at += length;
	return true;
}

static bool take_process(const char **at, struct record_shm_name *name)
{
	return take_number(at, &name->pid) && name->pid && take_text(at, ".") && take_id(at, &name->process);
}

void record_shm_parse(const char *text, struct record_shm_name *name)
{
	const char *at = text;
	bool good = false;

	*name = (struct record_shm_name){.kind = RECORD_SHM_OTHER};
	if (take_text(&at, "session.")) {
		uint32_t slot;

		good = strlen(at) == 2 && take_number(&at, &slot) && slot < PTL_SESSIONS_MAX;
		name->slot = good ? slot : 0;
		name->kind = RECORD_SHM_SESSION;
	} else if (take_text(&at, "process.")) {
		good = take_process(&at, name);
		name->kind = RECORD_SHM_PROCESS;
	} else if (take_text(&at, "rings.")) {
		good = take_process(&at, name) && take_text(&at, ".") && take_id(&at, &name->session);
		name->kind = RECORD_SHM_RINGS;
	} else if (take_text(&at, ".new.")) {
		name->kind = RECORD_SHM_NEW;
		return;
	}
	if (!good || *at)
		name->kind = RECORD_SHM_OTHER;
}

/* ---- all users ------------------------------------------------------------------------------- */

int record_shm_open_user(uint32_t user, char *path, int *folder)
{
	provider_name_folder(path, user);
	if (open_private(path, user, folder))
		return 0;
	if (*folder >= 0)
		close(*folder);
	*folder = -1;
	return common_fail(PTL_NOT_FOUND, "%s is no folder of user %u alone", path, user);
}

bool record_shm_parse_user(const char *text, uint32_t *user)
{
	const char *at = text;

	/* Accepts a single name per user: without leading zeros. */
	return take_text(&at, "ptl-") && (*at != '0' || !at[1]) && take_number(&at, user) && !*at;
}

bool record_shm_sees_all(void)
{
	const char *named = secure_getenv(PROVIDER_SHM_FOLDER_VARIABLE);

	return geteuid() == 0 && !(named && *named);
}

int record_shm_users(int (*visit)(void *context, uint32_t user), void *context)
{
	DIR *entries = opendir(RECORD_SHM_PARENT);
	struct dirent *entry;
	uint32_t user;
	int status = 0;

	while (entries && status == 0 && (entry = readdir(entries)))
		if (record_shm_parse_user(entry->d_name, &user) && user != geteuid())
			status = visit(context, user);
	if (entries)
		closedir(entries);
	return status;
}

/* ---- files ----------------------------------------------------------------------------------- */

int record_shm_open_file(int folder, const char *name, int flags, struct stat *info)
{
	const int fd = openat(folder, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat place;

	if (fd < 0)
		return -1;
	if (fstat(folder, &place) == 0 && fstat(fd, info) == 0 && S_ISREG(info->st_mode) &&
	    is_private(info, place.st_uid))
		return fd;
	close(fd);
	errno = EACCES;
	return -1;
}

int record_shm_list(int folder, int (*visit)(void *context, const char *text, const struct record_shm_name *name),
		    void *context)
{
	const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = copy < 0 ? NULL : fdopendir(copy);
	struct record_shm_name name;
	struct dirent *entry;
	struct stat place;
	unsigned left = RECORD_SHM_ENTRIES_MAX;
	int status = 0;

	if (!entries) {
		if (copy >= 0)
			close(copy);
		return common_fail_errno("cannot list the folder of providers");
	}
	if (fstat(folder, &place) == 0 && place.st_uid == geteuid())
		left = UINT_MAX;
	while (status == 0 && left-- && (entry = readdir(entries))) {
		record_shm_parse(entry->d_name, &name);
		status = visit(context, entry->d_name, &name);
	}
	closedir(entries);
	return status;
}

bool record_shm_has_ended(uint32_t pid, const struct stat *info)
{
	char line[8192], wanted[64], inode[32], name[64];
	struct record_proc_stat stat;
	bool found = false;
	FILE *file;

	if (!record_proc_stat(pid, &stat) || stat.state == 'Z' || stat.state == 'X')
		return true;
	snprintf(name, sizeof(name), "/proc/%u/maps", pid);
	file = fopen(name, "re");
	if (!file)
		return errno == ENOENT || errno == ESRCH;
	/* Notation of the kernel: device, a space, inode, a space. */
	snprintf(wanted, sizeof(wanted), " %02x:%02x %llu ", major(info->st_dev), minor(info->st_dev),
		 (unsigned long long)info->st_ino);
	/* Some file systems (not tmpfs) show another device there than stat does. */
	snprintf(inode, sizeof(inode), " %llu ", (unsigned long long)info->st_ino);
	while (!found && fgets(line, sizeof(line), file))
		found = strstr(line, wanted) || (strstr(line, inode) && strstr(line, "/process."));
	fclose(file);
	return !found;
}
