/* SPDX-License-Identifier: BSD-2-Clause */
/* Files: atomic output, reads of whole files up to a limit, complete writes. */
#include "common/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file_owner.h"

#define NAME_TRIES 100
#define READER_WAIT_MS 20 /* pause between two checks whether a FIFO has a reader */
#define FIRST_READ 65536

/* ---- reading and writing --------------------------------------------------------------------- */

int common_write_all(int fd, const void *data, size_t size)
{
	const uint8_t *at = data;

	while (size) {
		const ssize_t written = write(fd, at, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return common_fail_errno("cannot write");
		at += written;
		size -= (size_t)written;
	}
	return 0;
}

int common_read_at(int fd, void *data, size_t size, uint64_t offset)
{
	uint8_t *at = data;

	if (offset > INT64_MAX || size > INT64_MAX - offset)
		return common_fail(PTL_TRUNCATED, "offset %llu is past any end", (unsigned long long)offset);
	while (size) {
		const ssize_t got = pread(fd, at, size, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return common_fail_errno("cannot read at offset %llu", (unsigned long long)offset);
		if (got == 0)
			return common_fail(PTL_TRUNCATED, "the file ends at offset %llu, %zu bytes too early",
					   (unsigned long long)offset, size);
		at += got;
		offset += (uint64_t)got;
		size -= (size_t)got;
	}
	return 0;
}

/* Size of the first read: the size of a regular file. The caller adds one byte, which finds the end of the file. */
static size_t first_read(int fd, size_t limit)
{
	struct stat info;

	if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) || info.st_size <= 0)
		return FIRST_READ;
	return (uint64_t)info.st_size >= limit ? limit : (size_t)info.st_size;
}

/*
 * Reads to the end of the file. The buffer always has room for one byte more than `limit`, so that a larger file is
 * noticed.
 */
static int read_to_end(int fd, size_t limit, uint8_t **data, size_t *size)
{
	size_t room = first_read(fd, limit) + 1;
	uint8_t *bytes = malloc(room), *more;
	size_t used = 0;
	ssize_t got = 1;

	if (!bytes)
		return common_fail_memory("the file", room);
	while (got) {
		if (used > limit) {
			free(bytes);
			return common_fail(PTL_NO_MEMORY, "larger than the limit of %zu bytes", limit);
		}
		if (used == room) {
			room = room > limit / 2 ? limit + 1 : room * 2;
			more = realloc(bytes, room);
			if (!more) {
				free(bytes);
				return common_fail_memory("the file", room);
			}
			bytes = more;
		}
		got = read(fd, bytes + used, room - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			free(bytes);
			return common_fail_errno("cannot read");
		}
		used += (size_t)got;
	}
	bytes[used] = 0;
	*data = bytes;
	*size = used;
	return 0;
}

int common_open_regular(const char *path, struct stat *info)
{
	const int place = open(path, O_PATH | O_CLOEXEC);
	char link[64];
	int fd = -1;

	if (place < 0)
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	if (fstat(place, info) == 0 && S_ISREG(info->st_mode))
		fd = open(link, O_RDONLY | O_CLOEXEC);
	close(place);
	return fd;
}

int common_read_file(const char *path, size_t limit, uint8_t **data, size_t *size)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	int status;

	if (fd < 0)
		return common_fail_errno("cannot open %s", path);
	if (limit == SIZE_MAX)
		limit--;
	status = read_to_end(fd, limit, data, size);
	close(fd);
	return status < 0 ? common_fail_in(status, "%s", path) : 0;
}

/* ---- output ---------------------------------------------------------------------------------- */

static int fail_exists(const struct common_output_file *output)
{
	return common_fail(PTL_SYSTEM, "%s exists; -f replaces it, %s names another", output->path,
			   output->option ? output->option : "-o");
}

void common_file_lock_recorded(int fd)
{
	(void)flock(fd, LOCK_EX | LOCK_NB);
}

int common_file_check_recorded(const char *path)
{
	const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	/* A shared lock: two simultaneous checks do not block each other. */
	const bool recorded = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return recorded ? common_fail(PTL_SYSTEM,
				      "%s is being written by a ptl-record or a ptl-relog; stop that one first, or -o "
				      "names another",
				      path)
			: 0;
}

static void release_output(struct common_output_file *output)
{
	free(output->path);
	free(output->temporary);
	*output = (struct common_output_file){.fd = -1};
}

/*
 * Creates the file `name` and stores the name in output->temporary, which the signal handler removes. Signals are
 * blocked between the two steps, so `temporary` is set as soon as the file exists, and never names another user's file.
 */
static bool create_file(struct common_output_file *output, char *name)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	output->fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
	error = errno;
	if (output->fd >= 0)
		output->temporary = name;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return output->fd >= 0;
}

/*
 * Opens a file without a name in the folder of the path. Returns false if the file system has no unnamed files, or
 * /proc could not be used to name the file later.
 */
static bool create_unnamed(struct common_output_file *output)
{
	char *folder = common_file_folder(output->path);
	char link[32];

	output->fd = folder ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR) : -1;
	free(folder);
	if (output->fd < 0)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", output->fd);
	output->unnamed = access(link, F_OK) == 0;
	if (!output->unnamed) {
		close(output->fd);
		output->fd = -1;
	}
	return output->unnamed;
}

/* Gives an unnamed output the name `name`, or else creates a file with this name. */
static bool create_named(struct common_output_file *output, char *name)
{
	char link[32];

	if (!output->unnamed)
		return create_file(output, name);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", output->fd);
	if (linkat(AT_FDCWD, link, AT_FDCWD, name, AT_SYMLINK_FOLLOW) < 0)
		return false;
	output->unnamed = false;
	output->temporary = name;
	return true;
}

/* Creates PATH.tmp-XXXXXXXX, with access only for its owner. */
static int create_temporary(struct common_output_file *output)
{
	for (int i = 0; i < NAME_TRIES; i++) {
		unsigned number = (unsigned)getpid() + (unsigned)i;
		int error;
		char *name;

		if (getrandom(&number, sizeof(number), GRND_NONBLOCK) < 0)
			errno = 0; /* the default number will do */
		if (asprintf(&name, "%s.tmp-%08x", output->path, number) < 0)
			return common_fail_memory("a file name", strlen(output->path));
		if (create_named(output, name))
			return 0;
		error = errno;
		free(name);
		errno = error;
		if (errno != EEXIST)
			break;
	}
	return common_fail_errno("cannot create %s", output->path);
}

/* Creates the temporary file for a new path, or for a file that is to be replaced. */
static int create(struct common_output_file *output)
{
	return output->wants_no_name && create_unnamed(output) ? 0 : create_temporary(output);
}

/* Checks the opened file: the path may have been replaced after stat(2). */
static int check_special(const struct common_output_file *output)
{
	struct stat info;

	if (fstat(output->fd, &info) < 0)
		return common_fail_errno("%s", output->path);
	if (S_ISREG(info.st_mode))
		return common_fail(PTL_SYSTEM, "%s was replaced while it was opened", output->path);
	if (S_ISFIFO(info.st_mode) && !output->force && !common_file_is_trusted(info.st_uid) &&
	    !common_file_is_anonymous(output->fd))
		return common_file_refuse_foreign(output->path, info.st_uid);
	return 0;
}

/*
 * Opens for writing, and waits until a FIFO has a reader. Another user's FIFO needs `force`. Rechecks the path in every
 * round, as a removed FIFO never gets a reader. A signal ends the wait.
 */
static int open_when_read(struct common_output_file *output)
{
	static const struct timespec pause = {0, READER_WAIT_MS * 1000000};
	struct stat info;

	for (;;) {
		output->fd = open(output->path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (output->fd >= 0)
			return 0;
		if (errno != ENXIO || stat(output->path, &info) < 0 || !S_ISFIFO(info.st_mode))
			return common_fail_errno("cannot open %s", output->path);
		if (!output->force && !common_file_is_trusted(info.st_uid))
			return common_file_refuse_foreign(output->path, info.st_uid);
		if (nanosleep(&pause, NULL) < 0)
			return common_fail_errno("cannot open %s", output->path);
	}
}

/* Opens a pipe or a device. Without --force, a FIFO must belong to this user or root. */
static int open_special(struct common_output_file *output)
{
	int status = common_file_check_link(output->path);

	if (status == 0)
		status = open_when_read(output);
	if (status < 0)
		return status;
	status = check_special(output);
	if (status == 0 && fcntl(output->fd, F_SETFL, fcntl(output->fd, F_GETFL) & ~O_NONBLOCK) < 0)
		status = common_fail_errno("%s", output->path);
	if (status < 0)
		close(output->fd);
	return status;
}

/*
 * Opens an existing target. A regular file is to be replaced; of a symbolic link, the file that the link points to is
 * replaced. A pipe or a device is written to directly, without a temporary file.
 */
static int open_present(struct common_output_file *output, const struct stat *info)
{
	char *resolved;
	bool link;
	int status;

	if (S_ISDIR(info->st_mode))
		return common_fail(PTL_SYSTEM, "cannot create %s: it is a directory", output->path);
	if (!S_ISREG(info->st_mode))
		return open_special(output);
	if (!output->force)
		return fail_exists(output);
	status = common_file_check_own_link(output->path, &link);
	if (status < 0)
		return status;
	/* A path that is no link now is itself replaced, even if a link appears at this path later. */
	resolved = link ? realpath(output->path, NULL) : strdup(output->path);
	if (!resolved)
		return common_fail_errno("cannot replace %s", output->path);
	free(output->path);
	output->path = resolved;
	status = common_file_check_recorded(output->path);
	if (status < 0)
		return status;
	output->sync = true; /* without sync, a crash could lose both the old and the new content */
	return create(output);
}

static int open_output(struct common_output_file *output, const char *path, bool force, bool unnamed,
		       const char *option)
{
	struct stat info;
	int status;

	*output = (struct common_output_file){
		.fd = -1, .path = strdup(path), .wants_no_name = unnamed, .force = force, .option = option};
	if (!output->path)
		return common_fail_memory("a file name", strlen(path));
	if (!*path)
		status = common_fail(PTL_SYSTEM, "cannot create a file with an empty name");
	else if (stat(path, &info) == 0)
		status = open_present(output, &info);
	else if (errno != ENOENT)
		status = common_fail_errno("cannot create %s", path);
	else if (lstat(path, &info) == 0)
		status = common_fail(PTL_SYSTEM, "cannot create %s: it is a symbolic link to nothing", path);
	else
		status = create(output);
	if (status < 0)
		release_output(output);
	return status;
}

int common_output_open(struct common_output_file *output, const char *path, bool force)
{
	return open_output(output, path, force, false, NULL);
}

int common_output_open_of(struct common_output_file *output, const char *path, bool force, const char *option)
{
	return open_output(output, path, force, false, option);
}

int common_output_open_unnamed(struct common_output_file *output, const char *path, bool force)
{
	return open_output(output, path, force, true, NULL);
}

/* Works even if the file system has no single operation for this. */
int common_rename_new(const char *from, const char *to)
{
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	if (link(from, to) < 0)
		return -1;
	(void)unlink(from);
	return 0;
}

/*
 * Makes a rename durable: a new name is on disk only after its folder is. Errors are ignored, as some file systems do
 * not support fsync of folders.
 */
static void sync_folder(const char *path)
{
	char *folder = common_file_folder(path);
	const int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd >= 0) {
		(void)fsync(fd);
		close(fd);
	}
	free(folder);
}

static int sync_to_disk(int fd)
{
	/* Some file systems do not support fsync. */
	return fsync(fd) < 0 && errno != EINVAL && errno != ENOTSUP ? -1 : 0;
}

int common_sync_file(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	int status = fd < 0 || sync_to_disk(fd) < 0 ? common_fail_errno("cannot write %s", path) : 0;

	if (fd >= 0)
		close(fd);
	return status;
}

int common_output_commit(struct common_output_file *output)
{
	int status = 0;

	if (output->fd < 0)
		return common_fail(PTL_MISUSE, "the output is not open");
	if ((output->temporary || output->unnamed) && output->sync && sync_to_disk(output->fd) < 0)
		status = common_fail_errno("cannot write %s", output->path);
	if (status == 0 && output->unnamed)
		status = create_temporary(output);
	if (close(output->fd) < 0 && errno != EINTR && status == 0)
		status = common_fail_errno("cannot write %s", output->path);
	output->fd = -1;
	if (status == 0 && output->temporary && output->force)
		status = common_file_check_recorded(output->path);
	if (status == 0 && output->temporary) {
		if (output->force ? rename(output->temporary, output->path) < 0
				  : common_rename_new(output->temporary, output->path) < 0)
			status = errno == EEXIST ? fail_exists(output)
						 : common_fail_errno("cannot create %s", output->path);
		else if (output->sync)
			sync_folder(output->path);
	}
	if (status < 0 && output->temporary)
		(void)unlink(output->temporary);
	release_output(output);
	return status;
}

void common_output_abandon(struct common_output_file *output)
{
	if (output->fd < 0)
		return;
	close(output->fd);
	if (output->temporary)
		(void)unlink(output->temporary);
	release_output(output);
}

bool common_file_has_writer(int fd)
{
	/*
	 * The kernel grants a read lease only if no process has the file open for writing. A process that opens the
	 * file meanwhile breaks the lease, and the kernel reports the break by SIGURG, which is ignored by default.
	 */
	if (fcntl(fd, F_SETSIG, SIGURG) == 0 && fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
		fcntl(fd, F_SETLEASE, F_UNLCK);
		return false;
	}
	return true;
}

int common_open_temporary(int *fd)
{
	const char *folder = getenv("TMPDIR");
	char path[4096];

	folder = folder && *folder ? folder : "/tmp";
	*fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (*fd >= 0)
		return 0;
	/* Some file systems have no unnamed files. */
	snprintf(path, sizeof(path), "%s/ptl-XXXXXX", folder);
	*fd = mkostemp(path, O_CLOEXEC);
	if (*fd < 0)
		return common_fail_errno("cannot make a temporary file in %s", folder);
	unlink(path);
	return 0;
}

int common_write_temporary(int fd, const uint8_t *data, size_t size, uint64_t offset)
{
	while (size) {
		const ssize_t n = pwrite(fd, data, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return common_fail_errno("cannot write a temporary file");
		data += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}
