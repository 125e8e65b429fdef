/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts mappings to images, and embeds the mapped files, if this machine has exactly these files. */
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <ptl/kernel.h>

#include "common/error.h"
#include "common/file.h"
#include "common/text/text.h"
#include "elf/jit_attach.h"
#include "elf/jitdump.h"
#include "import/perf/import.h"

#define KERNEL_PID 0u /* pid of the kernel's images; perf uses pid -1 */

static void find_build_id(const struct perf_import *import, struct perf_mapping *mapping)
{
	const struct perf_build_id *id = perf_build_id_find(import, mapping->machine, mapping->path);

	if (!mapping->id.size && id)
		mapping->id = *id;
}

static int add_file(struct perf_import *import, const struct perf_mapping *mapping, struct ptl_image_event *image)
{
	struct stat info;
	bool other;
	const int fd = perf_image_open(import, mapping, &info, &other);
	int status = 0;

	if (fd >= 0)
		status = elf_image_store_file(import->images, fd, &info, mapping->offset, mapping->size, image);
	else if (other)
		import->outcome.other_files++;
	else if (!perf_is_vdso(mapping->path))
		import->outcome.absent_files++;
	if (fd >= 0)
		close(fd);
	return status;
}

/*
 * Attaches the jitdump that a JIT compiler mapped, if the very same file exists. A mapping only tells that the jitdump
 * exists.
 */
static int add_jitdump(struct perf_import *import, const struct perf_mapping *mapping)
{
	const struct elf_image_sink sink = perf_image_sink(import);
	struct stat info;
	int status = 0, fd;

	if (!elf_is_jitdump_name(mapping->path, strlen(mapping->path)))
		return 0;
	fd = common_open_regular(mapping->path, &info);
	if (fd >= 0 && info.st_ino == mapping->inode && major(info.st_dev) == mapping->device_major &&
	    minor(info.st_dev) == mapping->device_minor && elf_is_jitdump(&(struct elf_symbol_source){.fd = fd}))
		status = elf_jit_attach(&sink, fd, mapping->pid, common_base_name(mapping->path), NULL);
	if (fd >= 0)
		close(fd);
	return status;
}

static int write_image(struct perf_import *import, const struct perf_mapping *mapping, const struct perf_sample *sample)
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

	/* A file of this machine is a virtual machine's file only if the build id tells so. */
	const bool files = !sample->machine || mapping->id.size;

	memcpy(image.build_id, mapping->id.bytes, mapping->id.size);
	if (mapping->kernel)
		status = perf_kernel_image(import, mapping, &image);
	else if (files && import->embed != ELF_EMBED_NONE &&
		 ((mapping->path[0] == '/' && mapping->path[1] != '/') || perf_is_vdso(mapping->path)))
		status = add_file(import, mapping, &image);
	if (!status && !mapping->kernel && !sample->machine && import->embed >= ELF_EMBED_SYMBOLS)
		status = add_jitdump(import, mapping);
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

int perf_mmap(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
	      size_t body)
{
	struct perf_mapping mapping;
	struct perf_mapped mapped;
	int status;

	if (!perf_mapping_parse(record, body, &mapping))
		return common_fail(PTL_CORRUPT, "offset %llu: a mapping that cannot be",
				   (unsigned long long)record->offset);
	/* A mapping of an unknown virtual machine lies in other address spaces. */
	if ((!sample->machine && (record->misc & PERF_MISC_CPUMODE_MASK) >= PERF_MISC_GUEST_KERNEL) ||
	    !perf_mapping_is_code(&mapping))
		return perf_event_keep(import, record, sample, body);
	if (mapping.kernel)
		mapping.pid = mapping.tid = perf_guests_id(sample->machine, KERNEL_PID);
	mapping.machine = sample->machine;
	find_build_id(import, &mapping);
	mapped = (struct perf_mapped){mapping.pid, mapping.tid, perf_time(import, sample), mapping.path};
	status = perf_process_maps(import, &mapped);
	if (!status)
		status = perf_process_need(import, mapping.pid, mapped.time);
	if (!status && import->attrs.have_stacks && !mapping.kernel)
		status = perf_unwind_map(&import->unwinder, &mapping);
	return status ? status : write_image(import, &mapping, sample);
}
