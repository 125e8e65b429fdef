/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the files of mappings on this machine and in perf's caches: by build id, else by device, inode and age. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "common/vector.h"
#include "elf/file.h"
#include "import/perf/import.h"

#define BUILD_ID_KEY 4100

/*
 * Makes the key of a file's build id: the process that runs the virtual machine, which is 0 for the recorded machine,
 * and the path. All names of the kernel are one.
 */
static size_t build_id_key(uint32_t pid, const char *path, size_t length, char key[BUILD_ID_KEY])
{
	char name[BUILD_ID_KEY - 4];

	snprintf(name, sizeof(name), "%.*s", (int)(length < sizeof(name) ? length : sizeof(name) - 1), path);
	if (pid && perf_kernel_is_name(name))
		snprintf(name, sizeof(name), "%s", PERF_KERNEL_NAME);
	common_store32((uint8_t *)key, pid);
	length = strlen(name);
	memcpy(key + 4, name, length);
	return 4 + length;
}

/* Parses an entry of the build id table. The table serves mappings without a build id. */
int perf_build_id(struct perf_import *import, uint16_t misc, const uint8_t *data, size_t size)
{
	const bool guest = (misc & PERF_MISC_CPUMODE_MASK) >= PERF_MISC_GUEST_KERNEL;
	struct common_cursor cursor = common_cursor(data, size);
	struct perf_build_id id = {.size = PERF_BUILD_ID_MAX};
	char key[BUILD_ID_KEY];
	const uint8_t *bytes;
	const char *path;
	uint32_t pid; /* of the kernel, or of the virtual machine */
	size_t left;

	pid = common_read32(&cursor);
	bytes = common_read_bytes(&cursor, 24);
	left = common_cursor_left(&cursor);
	path = (const char *)common_read_bytes(&cursor, left);
	if (cursor.failed)
		return 0;
	if (misc & PERF_MISC_BUILD_ID_SIZE && bytes[PERF_BUILD_ID_MAX] <= PERF_BUILD_ID_MAX)
		id.size = bytes[PERF_BUILD_ID_MAX];
	memcpy(id.bytes, bytes, id.size);
	if (!common_vector_room(&import->ids, import->id_count, sizeof(*import->ids)))
		return common_fail_memory("build ids", (import->id_count + 1) * sizeof(*import->ids));
	import->ids[import->id_count] = id;
	left = build_id_key(guest ? pid : 0, path, strnlen(path, left), key);
	return common_byte_map_put(&import->build_ids, key, left, import->id_count++);
}

const struct perf_build_id *perf_build_id_find(const struct perf_import *import, uint32_t machine, const char *path)
{
	char key[BUILD_ID_KEY];
	const size_t size = build_id_key(machine ? import->guests.pids[machine - 1] : 0, path, strlen(path), key);
	const uint64_t *index = common_byte_map_get(&import->build_ids, key, size);

	return index ? &import->ids[*index] : NULL;
}

/*
 * Whether the file existed unchanged when perf.data was written: the inode number of a deleted file may be used again.
 * ctime is only the fallback: perf itself links files into ~/.debug, which changes ctime.
 */
static bool is_older(const struct perf_import *import, int fd, const struct stat *info)
{
	const int64_t written = perf_file_written(import->file);
	struct statx more;

	if (info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec > written)
		return false;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &more) == 0 && more.stx_mask & STATX_BTIME)
		return more.stx_btime.tv_sec * 1000000000 + more.stx_btime.tv_nsec <= written;
	return info->st_ctim.tv_sec * 1000000000 + info->st_ctim.tv_nsec <= written;
}

/* Whether the open file is the mapped file: by build id, else by device, inode and age. */
static bool is_the_one(const struct perf_import *import, const struct perf_mapping *mapping, int fd,
		       const struct stat *info)
{
	uint8_t id[PTL_BUILD_ID_MAX];
	struct elf_file *elf;
	size_t size;

	if (!mapping->id.size)
		return mapping->inode && info->st_ino == mapping->inode &&
		       major(info->st_dev) == mapping->device_major && minor(info->st_dev) == mapping->device_minor &&
		       is_older(import, fd, info);
	if (elf_open(fd, &elf) < 0)
		return false;
	size = elf_build_id(elf, id);
	elf_close(elf);
	/* perf pads short build ids with zeros. */
	return size && size >= mapping->id.size && !memcmp(id, mapping->id.bytes, mapping->id.size);
}

/*
 * Opens a file of the cache `folder`. Older versions of perf, and ptl-dump perf, have the file itself in the place of a
 * folder with the file.
 */
static int open_cached(const char *folder, const struct perf_build_id *id, const char *name, char *path, size_t room,
		       struct stat *info)
{
	int fd;
	int used = snprintf(path, room, "%.4000s/.build-id/%02x/", folder, id->bytes[0]);

	for (size_t i = 1; i < id->size; i++)
		used += snprintf(path + used, room - (size_t)used, "%02x", id->bytes[i]);
	snprintf(path + used, room - (size_t)used, "/%s", name);
	fd = common_open_regular(path, info);
	path[used] = fd < 0 ? 0 : path[used];
	return fd < 0 ? common_open_regular(path, info) : fd;
}

int perf_image_cached(const struct perf_import *import, const struct perf_mapping *mapping, const char *name,
		      char *path, size_t room, struct stat *info)
{
	int fd = -1;

	for (size_t i = 0; mapping->id.size >= 2 && fd < 0 && i < PERF_CACHES && import->caches[i][0]; i++)
		fd = open_cached(import->caches[i], &mapping->id, name, path, room, info);
	return fd;
}

/* Whether perf.data was recorded on this machine with the running kernel. */
static bool is_this_kernel(const struct ptl_machine *machine)
{
	struct utsname now;

	return uname(&now) == 0 && !strcmp(machine->hostname, now.nodename) && !strcmp(machine->kernel, now.release);
}

/*
 * Opens the mapped vdso. Uses this machine's vdso if the build ids are equal, or, without build ids, if host and kernel
 * are the same.
 */
static int open_vdso(struct perf_import *import, const struct perf_mapping *mapping, struct stat *info)
{
	const int fd = perf_vdso_open(&import->vdso);

	if (fd >= 0 && fstat(fd, info) == 0 &&
	    (mapping->id.size ? is_the_one(import, mapping, fd, info) : is_this_kernel(&import->machine)))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int perf_image_open(struct perf_import *import, const struct perf_mapping *mapping, struct stat *info, bool *other)
{
	const bool vdso = perf_is_vdso(mapping->path);
	char path[PERF_CACHED_PATH];
	int fd = vdso ? open_vdso(import, mapping, info) : common_open_regular(mapping->path, info);

	*other = false;
	if (fd >= 0 && (vdso || is_the_one(import, mapping, fd, info)))
		return fd;
	*other = fd >= 0;
	if (fd >= 0)
		close(fd);
	fd = perf_image_cached(import, mapping, vdso ? "vdso" : "elf", path, sizeof(path), info);
	if (fd >= 0 && is_the_one(import, mapping, fd, info))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}
