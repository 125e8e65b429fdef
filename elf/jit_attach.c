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

static int attach_times(const struct elf_image_sink *sink, const struct ptl_attachment *file,
			const struct ptl_bytes *times)
{
	struct ptl_attachment attachment = {
		.kind = PTL_ATTACHMENT_JIT_TIMES, .pid = file->pid, .name = file->name, .id_size = PTL_HASH_SIZE};
	int status;

	if (!times || !times->size)
		return 0;
	memcpy(attachment.id, file->hash, PTL_HASH_SIZE);
	status = sink->blob(sink->context, PTL_BLOB_FILE, times->data, times->size, attachment.hash);
	return status ? status : sink->attachment(sink->context, &attachment);
}

int elf_jit_attach(const struct elf_image_sink *sink, int fd, uint32_t pid, const char *name,
		   const struct ptl_bytes *times)
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
		if (!status)
			status = attach_times(sink, &attachment, times);
	}
	free(bytes);
	return status;
}

int elf_jit_open_map(int folder, uint32_t own_pid, uint32_t user, char *name)
{
	char path[sizeof(FOLDER) + ELF_JIT_NAME_SIZE];
	struct stat info;
	int fd;

	snprintf(name, ELF_JIT_NAME_SIZE, "perf-%u.map", own_pid);
	snprintf(path, sizeof(path), FOLDER "%s", name);
	fd = openat(folder, folder == AT_FDCWD ? path : name,
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode) || info.st_uid != user)) {
		close(fd);
		fd = -1;
	}
	return fd;
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
