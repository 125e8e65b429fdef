/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts MMAP and MMAP2 records. */
#include "import/perf/mapping.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "perf/fields.h"

#define KERNEL_HALF 0xffff800000000000u /* lowest kernel address of x86-64 */

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
	struct perf_fields fields;

	if (!perf_fields_read(record->type, record->misc, record->body, body, &fields))
		return false;
	*mapping = (struct perf_mapping){
		.pid = fields.pid,
		.tid = fields.tid,
		.base = fields.base,
		.size = fields.size,
		.offset = fields.file_offset,
		.device_major = fields.device_major,
		.device_minor = fields.device_minor,
		.inode = fields.inode,
		.id = {.size = fields.build_id_size},
		.protection = fields.protection,
	};
	if (fields.build_id)
		memcpy(mapping->id.bytes, fields.build_id, fields.build_id_size);
	if (record->type == PERF_RECORD_MMAP)
		mapping->protection = record->misc & PERF_MISC_MMAP_DATA ? PROT_READ : PROT_READ | PROT_EXEC;
	snprintf(mapping->path, sizeof(mapping->path), "%.*s", (int)fields.name_size, fields.name);
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

const char *perf_kernel_reference(const char *name)
{
	static const char guest[] = "[guest.kernel.kallsyms";
	const char *end;

	if (!strncmp(name, PERF_KERNEL_NAME, strlen(PERF_KERNEL_NAME)))
		return name + strlen(PERF_KERNEL_NAME);
	if (strncmp(name, guest, strlen(guest)) != 0)
		return NULL;
	end = strchr(name, ']');
	return end ? end + 1 : NULL;
}

bool perf_kernel_is_name(const char *name)
{
	return perf_kernel_reference(name) != NULL;
}
