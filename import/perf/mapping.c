/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses MMAP and MMAP2 records. */
#include "import/perf/mapping.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "common/bytes.h"

#define KERNEL_HALF 0xffff800000000000u /* lowest kernel address of x86-64 */

static bool read_build_id(struct common_cursor *cursor, struct perf_build_id *id)
{
	const uint8_t *bytes;

	id->size = common_read8(cursor);
	common_read_bytes(cursor, 3);
	bytes = common_read_bytes(cursor, PERF_BUILD_ID_MAX);
	if (!bytes || id->size > PERF_BUILD_ID_MAX)
		return false;
	memcpy(id->bytes, bytes, id->size);
	return true;
}

static void clean_path(char *path)
{
	static const char suffix[] = " (deleted)", memfd[] = "/memfd:";
	const size_t length = strlen(path);

	if (length >= strlen(suffix) && !strcmp(path + length - strlen(suffix), suffix))
		path[length - strlen(suffix)] = 0;
	if (!strncmp(path, memfd, strlen(memfd)))
		memmove(path, path + 1, strlen(path));
}

/*
 * Whether the kernel mapped the memory: perf reports kernel code as process -1. Process 0 may also be a process outside
 * the recorder's pid namespace, whose mappings lie in the user half.
 */
static bool is_kernel(const struct perf_record *record, const struct perf_mapping *mapping)
{
	return mapping->pid == UINT32_MAX ||
	       (mapping->pid == 0 &&
		((record->misc & PERF_MISC_CPUMODE_MASK) == PERF_MISC_KERNEL || mapping->base >= KERNEL_HALF));
}

bool perf_mapping_parse(const struct perf_record *record, size_t body, struct perf_mapping *mapping)
{
	struct common_cursor cursor = common_cursor(record->body, body);
	const char *path;
	size_t left;

	*mapping = (struct perf_mapping){.pid = common_read32(&cursor), .tid = common_read32(&cursor)};
	mapping->base = common_read64(&cursor);
	mapping->size = common_read64(&cursor);
	mapping->offset = common_read64(&cursor);
	if (record->type == PERF_RECORD_MMAP) {
		mapping->protection = record->misc & PERF_MISC_MMAP_DATA ? PROT_READ : PROT_READ | PROT_EXEC;
	} else if (record->misc & PERF_MISC_MMAP_BUILD_ID) {
		if (!read_build_id(&cursor, &mapping->id))
			return false;
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
	if (cursor.failed)
		return false;
	snprintf(mapping->path, sizeof(mapping->path), "%.*s", (int)strnlen(path, left), path);
	clean_path(mapping->path);
	mapping->kernel = is_kernel(record, mapping);
	return true;
}

bool perf_mapping_is_code(struct perf_mapping *mapping)
{
	uint64_t cut;

	if (!(mapping->protection & PROT_EXEC) || !mapping->size || mapping->base + (mapping->size - 1) < mapping->base)
		return false;
	if (!mapping->kernel)
		return mapping->pid != 0;
	if (mapping->base >= KERNEL_HALF)
		return true;
	cut = KERNEL_HALF - mapping->base;
	if (mapping->size <= cut)
		return false;
	mapping->base += cut;
	mapping->size -= cut;
	return true;
}
