/* SPDX-License-Identifier: BSD-2-Clause */
/* Mappings, as images; and the files behind them, where this machine has the very same. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <ptl/kernel.h>

#include "common/error.h"
#include "common/file.h"
#include "common/text/text.h"
#include "common/vector.h"
#include "elf/file.h"
#include "elf/jit_attach.h"
#include "elf/jitdump.h"
#include "import/perf/import.h"

#define KERNEL_PID 0u /* perf has the kernel's code in process -1 */

/* A MMAP or MMAP2 record. */
struct mapping {
	uint32_t pid, tid;
	uint64_t base, size, offset;
	uint32_t device_major, device_minor;
	uint64_t inode;
	struct perf_build_id id;
	uint32_t protection;
	char path[4096];
};

static bool parse(const struct perf_record *record, size_t body, struct mapping *mapping)
{
	struct common_cursor cursor = common_cursor(record->body, body);
	const char *path;
	size_t left;

	*mapping = (struct mapping){.pid = common_read32(&cursor), .tid = common_read32(&cursor)};
	mapping->base = common_read64(&cursor);
	mapping->size = common_read64(&cursor);
	mapping->offset = common_read64(&cursor);
	if (record->type == PERF_RECORD_MMAP) {
		mapping->protection = record->misc & PERF_MISC_MMAP_DATA ? PROT_READ : PROT_READ | PROT_EXEC;
	} else if (record->misc & PERF_MISC_MMAP_BUILD_ID) {
		const uint8_t *id;

		mapping->id.size = common_read8(&cursor);
		common_read_bytes(&cursor, 3);
		id = common_read_bytes(&cursor, PERF_BUILD_ID_MAX);
		if (!id || mapping->id.size > PERF_BUILD_ID_MAX)
			return false;
		memcpy(mapping->id.bytes, id, mapping->id.size);
	} else {
		mapping->device_major = common_read32(&cursor);
		mapping->device_minor = common_read32(&cursor);
		mapping->inode = common_read64(&cursor);
		common_read64(&cursor); /* generation */
	}
	if (record->type == PERF_RECORD_MMAP2) {
		mapping->protection = common_read32(&cursor);
		common_read32(&cursor); /* flags */
	}
	left = common_cursor_left(&cursor);
	path = (const char *)common_read_bytes(&cursor, left);
	if (cursor.failed || !mapping->size || mapping->base + (mapping->size - 1) < mapping->base)
		return false;
	snprintf(mapping->path, sizeof(mapping->path), "%.*s", (int)strnlen(path, left), path);
	return true;
}

/* The path of an entry: build ids stand in the file's table for those who know no better. */
int perf_build_id(struct perf_import *import, uint16_t misc, const uint8_t *data, size_t size)
{
	struct common_cursor cursor = common_cursor(data, size);
	struct perf_build_id id = {.size = PERF_BUILD_ID_MAX};
	const uint8_t *bytes;
	const char *path;
	size_t left;

	common_read32(&cursor); /* pid: the kernel's, or a guest's */
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
	return common_byte_map_put(&import->build_ids, path, strnlen(path, left), import->id_count++);
}

static void find_build_id(const struct perf_import *import, struct mapping *mapping)
{
	const uint64_t *index = common_byte_map_get(&import->build_ids, mapping->path, strlen(mapping->path));

	if (!mapping->id.size && index)
		mapping->id = import->ids[*index];
}

/*
 * Whether the file was there, as it is, when perf.data was written: the number of a deleted file is given to another.
 * The time of its last change of any kind does not say: perf itself gives files further names, in ~/.debug.
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

/* Whether the open file is the one that was mapped: by its build id; else by device and inode, if it is older. */
static bool is_the_one(const struct perf_import *import, const struct mapping *mapping, int fd, const struct stat *info)
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
	/* perf fills short ids up with zeros. */
	return size && size >= mapping->id.size && !memcmp(id, mapping->id.bytes, mapping->id.size);
}

/* perf's own cache of files by build id has what was replaced since. */
static int open_cached(const struct mapping *mapping, struct stat *info)
{
	const char *home = getenv("HOME");
	char path[4200];
	int used;

	if (!home || mapping->id.size < 2)
		return -1;
	used = snprintf(path, sizeof(path), "%.4000s/.debug/.build-id/%02x/", home, mapping->id.bytes[0]);
	for (size_t i = 1; i < mapping->id.size; i++)
		used += snprintf(path + used, sizeof(path) - (size_t)used, "%02x", mapping->id.bytes[i]);
	snprintf(path + used, sizeof(path) - (size_t)used, "/elf");
	return common_open_regular(path, info);
}

static int add_file(struct perf_import *import, const struct mapping *mapping, struct ptl_image_event *image)
{
	struct stat info;
	int fd = common_open_regular(mapping->path, &info), status = 0;
	bool found = fd >= 0 && is_the_one(import, mapping, fd, &info);
	const bool other = fd >= 0 && !found;

	if (!found) {
		if (fd >= 0)
			close(fd);
		fd = open_cached(mapping, &info);
		found = fd >= 0 && is_the_one(import, mapping, fd, &info);
	}
	if (found)
		status = elf_image_store_file(import->images, fd, &info, mapping->offset, mapping->size, image);
	else if (other)
		import->outcome.other_files++;
	else
		import->outcome.absent_files++;
	if (fd >= 0)
		close(fd);
	return status;
}

/* The jitdump that a compiler mapped, so that it is known; only the very same file has the names. */
static int add_jitdump(struct perf_import *import, const struct mapping *mapping)
{
	const struct elf_image_sink sink = perf_image_sink(import);
	struct stat info;
	int status = 0, fd;

	if (!elf_is_jitdump_name(mapping->path, strlen(mapping->path)))
		return 0;
	fd = common_open_regular(mapping->path, &info);
	if (fd >= 0 && info.st_ino == mapping->inode && major(info.st_dev) == mapping->device_major &&
	    minor(info.st_dev) == mapping->device_minor && elf_is_jitdump(&(struct elf_symbol_source){.fd = fd}))
		status = elf_jit_attach(&sink, fd, mapping->pid, common_base_name(mapping->path));
	if (fd >= 0)
		close(fd);
	return status;
}

static int write_image(struct perf_import *import, const struct mapping *mapping, const struct perf_sample *sample)
{
	const bool rundown = perf_is_rundown(import, sample);
	struct ptl_image_event image = {
		.base = mapping->base,
		.size = mapping->size,
		.process_id = mapping->pid,
		.default_base = mapping->offset,
		.file_name = mapping->path,
		.file_offset = mapping->offset,
		.protection = mapping->protection,
		.device_major = mapping->device_major,
		.device_minor = mapping->device_minor,
		.inode = mapping->inode,
		.build_id_size = mapping->id.size,
	};
	struct ptl_event event = {0};
	int status = 0;

	memcpy(image.build_id, mapping->id.bytes, mapping->id.size);
	if (import->embed != ELF_EMBED_NONE && mapping->path[0] == '/' && mapping->path[1] != '/')
		status = add_file(import, mapping, &image);
	if (!status && import->embed >= ELF_EMBED_SYMBOLS)
		status = mapping->pid == KERNEL_PID ? perf_kernel_names(import, &image) : add_jitdump(import, mapping);
	if (!status) {
		import->storage.size = 0;
		status = ptl_image_encode(&image, rundown ? PTL_OPCODE_START_RUNDOWN : PTL_OPCODE_LOAD,
					  &import->storage, &event);
	}
	if (status)
		return status;
	event.time = perf_time(import, sample);
	event.cpu = sample->cpu;
	event.pid = mapping->pid;
	event.tid = mapping->tid;
	return perf_event_write(import, &event);
}

/* "/memfd:NAME (deleted)" and "PATH (deleted)": names as ptl/kernel.h has them. */
static void clean_path(struct mapping *mapping)
{
	static const char suffix[] = " (deleted)", memfd[] = "/memfd:";
	const size_t length = strlen(mapping->path);

	if (length >= strlen(suffix) && !strcmp(mapping->path + length - strlen(suffix), suffix))
		mapping->path[length - strlen(suffix)] = 0;
	if (!strncmp(mapping->path, memfd, strlen(memfd)))
		memmove(mapping->path, mapping->path + 1, strlen(mapping->path));
}

int perf_mmap(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
	      size_t body)
{
	struct mapping mapping;
	int status;

	if (!parse(record, body, &mapping))
		return common_fail(PTL_CORRUPT, "offset %llu: a mapping that cannot be",
				   (unsigned long long)record->offset);
	/* What a virtual machine mapped is in its own address spaces. */
	if (!(mapping.protection & PROT_EXEC) || (record->misc & PERF_MISC_CPUMODE_MASK) >= PERF_MISC_GUEST_KERNEL)
		return perf_event_keep(import, record, sample, body);
	if (mapping.pid == UINT32_MAX)
		mapping.pid = mapping.tid = KERNEL_PID;
	find_build_id(import, &mapping);
	clean_path(&mapping);
	status = perf_process_maps(import, mapping.pid, mapping.path);
	if (!status)
		status = perf_process_need(import, mapping.pid, perf_time(import, sample));
	return status ? status : write_image(import, &mapping, sample);
}
