/* SPDX-License-Identifier: BSD-2-Clause */
/* Files named by the hash of their content. */
#include "common/content/content_store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"

#define PATH_SIZE 4096

/* Formats the path of the digest's file, or with only_folder the path of the file's folder. */
static int path_of(const char *folder, const uint8_t *digest, bool only_folder, char path[PATH_SIZE])
{
	char text[COMMON_SHA256_TEXT_SIZE];
	int length;

	common_sha256_format(digest, text);
	length = snprintf(path, PATH_SIZE, "%s/%.2s%s%s", folder, text, only_folder ? "" : "/",
			  only_folder ? "" : text + 2);
	if (length < 0 || length >= PATH_SIZE)
		return common_fail(PTL_MISUSE, "the name of the store is too long");
	return 0;
}

bool common_content_has(const char *folder, const uint8_t digest[COMMON_SHA256_SIZE], uint64_t *size)
{
	char path[PATH_SIZE];
	struct stat info;

	if (path_of(folder, digest, false, path) || stat(path, &info) || !S_ISREG(info.st_mode))
		return false;
	*size = (uint64_t)info.st_size;
	return true;
}

int common_content_open(const char *folder, const uint8_t digest[COMMON_SHA256_SIZE], uint64_t *size)
{
	char path[PATH_SIZE];
	struct stat info;
	int fd;

	if (path_of(folder, digest, false, path))
		return -1;
	fd = common_open_regular(path, &info);
	if (fd >= 0)
		*size = (uint64_t)info.st_size;
	return fd;
}

static int read_file(int fd, const char *path, const uint8_t *digest, uint8_t *data, size_t size)
{
	uint8_t found[COMMON_SHA256_SIZE];
	const int status = common_read_at(fd, data, size, 0);

	if (status)
		return common_fail_in(status, "%s", path);
	common_sha256_of(data, size, found);
	if (memcmp(found, digest, sizeof(found)) != 0)
		return common_fail(PTL_CORRUPT, "%s: its content is not what its name says", path);
	return 0;
}

int common_content_read(const char *folder, const uint8_t digest[COMMON_SHA256_SIZE], uint8_t *data, size_t room,
			size_t *size)
{
	char path[PATH_SIZE];
	uint64_t there;
	int status = path_of(folder, digest, false, path);
	int fd = status ? -1 : common_content_open(folder, digest, &there);

	if (status)
		return status;
	if (fd < 0)
		return common_fail(PTL_NOT_FOUND, "there is no %s", path);
	if (there > room) {
		status = common_fail(PTL_NO_MEMORY, "%s has %llu bytes, more than %zu", path, (unsigned long long)there,
				     room);
	} else {
		*size = (size_t)there;
		status = read_file(fd, path, digest, data, *size);
	}
	close(fd);
	return status;
}

static int make_folder(const char *path)
{
	if (mkdir(path, 0777) && errno != EEXIST)
		return common_fail_errno("cannot make the folder %s", path);
	return 0;
}

static int write_file(const char *path, const void *data, size_t size)
{
	struct common_output_file output;
	int status = common_output_open(&output, path, true);

	if (status)
		return status;
	/* A file damaged by a crash is detected by its hash. */
	output.sync = false;
	status = common_write_all(output.fd, data, size);
	if (!status)
		return common_output_commit(&output);
	common_output_abandon(&output);
	return common_fail_in(status, "%s", path);
}

int common_content_add(const char *folder, const uint8_t digest[COMMON_SHA256_SIZE], const void *data, size_t size,
		       bool *added)
{
	char path[PATH_SIZE];
	uint64_t there;
	int status;

	*added = false;
	if (common_content_has(folder, digest, &there) && there == size)
		return 0;
	status = make_folder(folder);
	if (!status)
		status = path_of(folder, digest, true, path);
	if (!status)
		status = make_folder(path);
	if (!status)
		status = path_of(folder, digest, false, path);
	if (!status)
		status = write_file(path, data, size);
	*added = !status;
	return status;
}
