/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of zero-terminated texts and numbers about ended sessions. */
#include "record/control/ended.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/session/series.h"
#include "common/session/session_folder.h"
#include "common/text/text.h"

/* Session names never begin with a point. */
#define PREFIX "."
#define SUFFIX ".ended"
#define UNFINISHED ".unfinished"
#define SECOND 1000000000
#define FILE_NAME_SIZE (COMMON_SESSION_NAME_MAX + sizeof(PREFIX SUFFIX UNFINISHED))

/* Maximum number of running sessions, and of ended sessions. */
#define NAMES_MAX (2 * COMMON_SESSIONS_MAX)

struct names {
	char list[NAMES_MAX][COMMON_SESSION_NAME_MAX + 1];
	size_t count;
	size_t over; /* number of sessions without a socket */
	char oldest[COMMON_SESSION_NAME_MAX + 1];
	struct timespec oldest_time;
};

static void file_of(const char *name, char file[FILE_NAME_SIZE])
{
	snprintf(file, FILE_NAME_SIZE, PREFIX "%s" SUFFIX, name);
}

static bool session_name_of(const char *file, char name[COMMON_SESSION_NAME_MAX + 1])
{
	const size_t size = strlen(file), around = strlen(PREFIX SUFFIX);

	if (size <= around || size - around > COMMON_SESSION_NAME_MAX || strncmp(file, PREFIX, strlen(PREFIX)) != 0 ||
	    strcmp(file + size - strlen(SUFFIX), SUFFIX) != 0)
		return false;
	memcpy(name, file + strlen(PREFIX), size - around);
	name[size - around] = 0;
	return true;
}

static bool has_socket(int folder, const char *name)
{
	char file[COMMON_SESSION_NAME_MAX + sizeof(COMMON_SESSION_SUFFIX)];

	snprintf(file, sizeof(file), "%s" COMMON_SESSION_SUFFIX, name);
	return faccessat(folder, file, F_OK, 0) == 0;
}

static bool is_time_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void find_names(int folder, struct names *names)
{
	const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	struct stat info;

	*names = (struct names){.count = 0};
	if (!entries && copy >= 0)
		close(copy);
	while (entries && names->count < NAMES_MAX && (entry = readdir(entries))) {
		char *name = names->list[names->count];

		if (!session_name_of(entry->d_name, name) ||
		    fstatat(folder, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		names->count++;
		if (has_socket(folder, name))
			continue;
		if (!names->over++ || is_time_before(&info.st_mtim, &names->oldest_time)) {
			memcpy(names->oldest, name, sizeof(names->oldest));
			names->oldest_time = info.st_mtim;
		}
	}
	if (entries)
		closedir(entries);
	qsort(names->list, names->count, sizeof(names->list[0]), by_name);
}

int record_ended_list(int folder, int (*visit)(void *context, const char *name), void *context)
{
	struct names names;
	int status = 0;

	find_names(folder, &names);
	for (size_t i = 0; status == 0 && i < names.count; i++)
		status = visit(context, names.list[i]);
	return status;
}

static bool write_ended(int fd, const struct record_ended *ended)
{
	return dprintf(fd, "%lld%c%s%c%s%c%s%c%lld%c%s%c%s%c", (long long)ended->time, 0, ended->why, 0, ended->file, 0,
		       ended->messages, 0, (long long)ended->begun, 0, ended->stem, 0, ended->suffix, 0) > 0;
}

void record_ended_write(int folder, const char *name, const struct record_ended *ended)
{
	char file[FILE_NAME_SIZE], unfinished[FILE_NAME_SIZE];
	struct names names;
	bool written;
	int fd;

	file_of(name, file);
	snprintf(unfinished, sizeof(unfinished), PREFIX "%s" UNFINISHED, name);
	find_names(folder, &names);
	if (names.over >= COMMON_SESSIONS_MAX)
		record_ended_forget(folder, names.oldest);
	(void)unlinkat(folder, unfinished, 0);
	fd = openat(folder, unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
	if (fd < 0)
		return;
	written = write_ended(fd, ended);
	if (close(fd) < 0 || !written || renameat(folder, unfinished, folder, file) < 0)
		(void)unlinkat(folder, unfinished, 0);
}

/* Returns the text at *at, and moves *at behind the text. Returns NULL without a final zero. */
static const char *take_text(char **at, const char *end)
{
	char *text = *at, *zero = memchr(text, 0, (size_t)(end - text));

	if (!zero)
		return NULL;
	*at = zero + 1;
	return text;
}

/* Reads members that older recorders did not write. Leaves the members empty otherwise. */
static void take_series(char *at, const char *end, struct record_ended *ended)
{
	const char *begun = take_text(&at, end);

	ended->begun = begun ? strtoll(begun, NULL, 10) : 0;
	ended->stem = begun ? take_text(&at, end) : NULL;
	ended->suffix = ended->stem ? take_text(&at, end) : NULL;
	if (!ended->suffix)
		ended->stem = ended->suffix = "";
}

int record_ended_read(int folder, const char *name, struct record_ended *ended, char memory[RECORD_ENDED_MAX])
{
	char file[FILE_NAME_SIZE], *at = memory;
	const char *time;
	ssize_t size;
	int fd;

	file_of(name, file);
	fd = openat(folder, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	size = fd < 0 ? -1 : read(fd, memory, RECORD_ENDED_MAX);
	if (fd >= 0)
		close(fd);
	if (size <= 0)
		return common_fail(PTL_NOT_FOUND, "there is no session %s", name);
	time = take_text(&at, memory + size);
	ended->why = time ? take_text(&at, memory + size) : NULL;
	ended->file = ended->why ? take_text(&at, memory + size) : NULL;
	ended->messages = ended->file ? take_text(&at, memory + size) : NULL;
	if (!ended->messages)
		return common_fail(PTL_NOT_FOUND, "there is no session %s", name);
	ended->time = strtoll(time, NULL, 10);
	take_series(at, memory + size, ended);
	return 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Returns the file's modification time, in nanoseconds since 1970; 0 without the file. */
static int64_t time_of(const char *path)
{
	struct stat info;

	return stat(path, &info) < 0 ? 0 : (int64_t)info.st_mtim.tv_sec * SECOND + info.st_mtim.tv_nsec;
}

int record_ended_files(const struct record_ended *ended, uint64_t **numbers, size_t *count)
{
	size_t found = 0;
	int status;

	*numbers = NULL;
	*count = 0;
	status = *ended->stem ? common_series_list(ended->stem, ended->suffix, 0, numbers, count) : 0;
	for (size_t i = 0; i < *count; i++) {
		char *path = common_series_path(ended->stem, (*numbers)[i], ended->suffix);

		if (path && time_of(path) >= ended->begun)
			(*numbers)[found++] = (*numbers)[i];
		free(path);
	}
	*count = found;
	return status == PTL_NOT_FOUND ? 0 : status;
}

int record_ended_describe(const struct record_ended *ended, struct ptl_bytes *text)
{
	uint64_t *numbers;
	size_t count;
	const int status = record_ended_files(ended, &numbers, &count);

	if (count > 1)
		common_text_format(text, "its files are %s.%06llu%s to %s.%06llu%s", ended->stem,
				   (unsigned long long)numbers[0], ended->suffix, ended->stem,
				   (unsigned long long)numbers[count - 1], ended->suffix);
	else if (count)
		common_text_format(text, "its file is %s.%06llu%s", ended->stem, (unsigned long long)numbers[0],
				   ended->suffix);
	else if (*ended->file)
		common_text_format(text, "its file is %s", ended->file);
	else
		common_text_add(text, "it has left no file");
	free(numbers);
	return status;
}

void record_ended_killed(struct record_ended *ended)
{
	int64_t last = time_of(ended->file);
	uint64_t *numbers;
	size_t count;

	ended->why = "it was killed";
	(void)record_ended_files(ended, &numbers, &count);
	if (count) {
		char *path = common_series_path(ended->stem, numbers[count - 1], ended->suffix);

		last = path ? time_of(path) : 0;
		free(path);
	}
	free(numbers);
	ended->time = last ? last : ended->time;
}

void record_ended_forget(int folder, const char *name)
{
	char file[FILE_NAME_SIZE];

	file_of(name, file);
	(void)unlinkat(folder, file, 0);
}
