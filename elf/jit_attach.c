/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads whole perf maps and jitdumps into blobs. */
#include "elf/jit_attach.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"

#define FILE_MAX_SIZE ((uint64_t)256 << 20) /* same limit as when ptl-dump reads such files */
#define FOLDER "/tmp/"                      /* folder of perf maps, by perf's convention */

int elf_jit_attach(const struct elf_image_sink *sink, int fd, uint32_t pid, const char *name)
{
	struct ptl_attachment attachment = {.kind = PTL_ATTACHMENT_JIT, .pid = pid, .name = name};
	struct stat info;
	uint8_t *bytes;
	size_t size;
	int status = 0;

	if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) || !info.st_size || (uint64_t)info.st_size > FILE_MAX_SIZE)
		return 0;
	size = (size_t)info.st_size;
	bytes = malloc(size);
	if (!bytes)
		return common_fail_memory("names of code that was made", size);
	if (common_read_at(fd, bytes, size, 0) == 0) {
		status = sink->blob(sink->context, PTL_BLOB_FILE, bytes, size, attachment.hash);
		if (!status)
			status = sink->attachment(sink->context, &attachment);
	}
	free(bytes);
	return status;
}

int elf_jit_attach_map(const struct elf_image_sink *sink, int folder, uint32_t own_pid, uint32_t user, uint32_t pid)
{
	char path[64];
	const char *name = path + strlen(FOLDER);
	struct stat info;
	int fd, status = 0;

	snprintf(path, sizeof(path), FOLDER "perf-%u.map", own_pid);
	fd = openat(folder, folder == AT_FDCWD ? path : name,
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (fstat(fd, &info) == 0 && info.st_uid == user)
		status = elf_jit_attach(sink, fd, pid, name);
	close(fd);
	return status;
}

bool elf_is_jitdump_name(const char *path, size_t size)
{
	static const char start[] = "jit-", end[] = ".dump";
	size_t name = size;

	while (name && path[name - 1] != '/')
		name--;
	return size - name > strlen(start) + strlen(end) && !memcmp(path + name, start, strlen(start)) &&
	       !memcmp(path + size - strlen(end), end, strlen(end));
}
