/* SPDX-License-Identifier: BSD-2-Clause */
/* Tracks mappings of processes, and unwinds stacks of samples. */
#include "import/perf/unwind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/vector.h"
#include "elf/unwind.h"
#include "import/perf/import.h"

#define OPEN_MAX 32u   /* maximum address spaces with open files */
#define MAPS_MAX 4096u /* maximum mappings of a process; JIT code has no unwind tables */

/* Identity of a mapped file. */
struct perf_mapped_file {
	uint32_t device_major, device_minor;
	uint64_t inode;
	struct perf_build_id id;
	char *path;
};

struct space_map {
	uint64_t base, size, offset;
	size_t file;
};

struct perf_space {
	struct space_map *maps;
	size_t count, capacity;
	size_t added;               /* number of maps that were added to `files` */
	struct elf_unwinder *files; /* NULL: not opened, or mappings were replaced since */
};

bool perf_unwind_wants(const struct perf_sample *sample)
{
	return sample->has_stack && sample->attr && sample->attr->sample_type & PERF_SAMPLE_REGS_USER;
}

static struct perf_space *find_space(const struct perf_unwinder *unwinder, uint32_t pid)
{
	const uint64_t *known = common_hash_map_get(&unwinder->spaces, pid);

	return known ? (struct perf_space *)(uintptr_t)*known : NULL;
}

static struct perf_space *find_or_add(struct perf_unwinder *unwinder, uint32_t pid)
{
	struct perf_space *space = find_space(unwinder, pid);

	if (space)
		return space;
	space = calloc(1, sizeof(*space));
	if (!space || common_hash_map_put(&unwinder->spaces, pid, (uint64_t)(uintptr_t)space)) {
		free(space);
		common_fail_memory("a process", sizeof(*space));
		return NULL;
	}
	return space;
}

static void close_files(struct perf_unwinder *unwinder, struct perf_space *space)
{
	unwinder->open -= space->files != NULL;
	elf_unwinder_free(space->files);
	space->files = NULL;
	space->added = 0;
}

static void close_all(struct perf_unwinder *unwinder)
{
	uint64_t pid, value;
	size_t at = 0;

	while (common_hash_map_next(&unwinder->spaces, &at, &pid, &value))
		close_files(unwinder, (struct perf_space *)(uintptr_t)value);
}

/* ---- mappings -------------------------------------------------------------------------------- */

static bool is_same_file(const struct perf_mapped_file *file, const struct perf_mapping *mapping)
{
	return file->device_major == mapping->device_major && file->device_minor == mapping->device_minor &&
	       file->inode == mapping->inode && file->id.size == mapping->id.size &&
	       !memcmp(file->id.bytes, mapping->id.bytes, mapping->id.size);
}

static int find_file(struct perf_unwinder *unwinder, const struct perf_mapping *mapping, size_t *index)
{
	const size_t length = strlen(mapping->path);
	const uint64_t *known = common_byte_map_get(&unwinder->paths, mapping->path, length);
	struct perf_mapped_file *file;

	if (known && is_same_file(&unwinder->files[*known], mapping)) {
		*index = *known;
		return 0;
	}
	if (!common_vector_room(&unwinder->files, unwinder->file_count, sizeof(*unwinder->files)))
		return common_fail_memory("mapped files", (unwinder->file_count + 1) * sizeof(*file));
	file = &unwinder->files[unwinder->file_count];
	*file = (struct perf_mapped_file){mapping->device_major, mapping->device_minor, mapping->inode, mapping->id,
					  strdup(mapping->path)};
	if (!file->path)
		return common_fail_memory("mapped files", length);
	*index = unwinder->file_count++;
	return common_byte_map_put(&unwinder->paths, mapping->path, length, *index);
}

static void remove_overlapped(struct perf_unwinder *unwinder, struct perf_space *space, uint64_t base, uint64_t size)
{
	size_t left = 0;

	for (size_t i = 0; i < space->count; i++)
		if (space->maps[i].base + space->maps[i].size <= base || base + size <= space->maps[i].base)
			space->maps[left++] = space->maps[i];
	if (left < space->count)
		close_files(unwinder, space);
	space->count = left;
}

/* Whether the mapping can have unwind tables: files and the vdso. */
static bool may_have_frames(const char *path)
{
	return perf_program_rank("", path) != PERF_PROGRAM_NONE || perf_is_vdso(path);
}

int perf_unwind_map(struct perf_unwinder *unwinder, const struct perf_mapping *mapping)
{
	struct perf_space *space = find_or_add(unwinder, mapping->pid);
	size_t file = 0;
	int status;

	if (!space)
		return PTL_NO_MEMORY;
	remove_overlapped(unwinder, space, mapping->base, mapping->size);
	if (!may_have_frames(mapping->path) || space->count >= MAPS_MAX)
		return 0;
	status = find_file(unwinder, mapping, &file);
	if (!status)
		status = COMMON_VECTOR_RESERVE(space->maps, space->capacity, space->count + 1, "mapped files");
	if (!status)
		space->maps[space->count++] = (struct space_map){mapping->base, mapping->size, mapping->offset, file};
	return status;
}

int perf_unwind_fork(struct perf_unwinder *unwinder, uint32_t parent, uint32_t child)
{
	const struct perf_space *from = find_space(unwinder, parent);
	struct perf_space *space;
	int status;

	perf_unwind_forget(unwinder, child);
	if (!from || !from->count)
		return 0;
	space = find_or_add(unwinder, child);
	if (!space)
		return PTL_NO_MEMORY;
	status = COMMON_VECTOR_RESERVE(space->maps, space->capacity, from->count, "mapped files");
	if (status)
		return status;
	memcpy(space->maps, from->maps, from->count * sizeof(*from->maps));
	space->count = from->count;
	return 0;
}

void perf_unwind_forget(struct perf_unwinder *unwinder, uint32_t pid)
{
	struct perf_space *space = find_space(unwinder, pid);

	if (!space)
		return;
	close_files(unwinder, space);
	space->count = 0;
}

void perf_unwind_free(struct perf_unwinder *unwinder)
{
	uint64_t pid, value;
	size_t at = 0;

	close_all(unwinder);
	while (common_hash_map_next(&unwinder->spaces, &at, &pid, &value)) {
		free(((struct perf_space *)(uintptr_t)value)->maps);
		free((void *)(uintptr_t)value);
	}
	common_hash_map_free(&unwinder->spaces);
	common_byte_map_free(&unwinder->paths);
	for (size_t i = 0; i < unwinder->file_count; i++)
		free(unwinder->files[i].path);
	free(unwinder->files);
	common_bytes_free(&unwinder->chain);
}

/* ---- unwinding ------------------------------------------------------------------------------- */

static void add_map(struct perf_import *import, struct perf_space *space, const struct space_map *map)
{
	const struct perf_mapped_file *file = &import->unwinder.files[map->file];
	struct perf_mapping mapping = {
		.base = map->base,
		.size = map->size,
		.offset = map->offset,
		.device_major = file->device_major,
		.device_minor = file->device_minor,
		.inode = file->inode,
		.id = file->id,
	};
	struct stat info;
	bool other;
	int fd;

	snprintf(mapping.path, sizeof(mapping.path), "%s", file->path);
	fd = perf_image_open(import, &mapping, &info, &other);
	if (fd >= 0)
		elf_unwinder_add(space->files, mapping.path, fd, map->base, map->offset);
}

/* Opens files that were mapped since the last call. Returns PTL_NO_MEMORY. */
static int open_files(struct perf_import *import, struct perf_space *space)
{
	if (space->files && space->added == space->count)
		return 0;
	if (!space->files && import->unwinder.open >= OPEN_MAX)
		close_all(&import->unwinder);
	if (!space->files) {
		space->files = elf_unwinder_new();
		import->unwinder.open += space->files != NULL;
	}
	if (!space->files)
		return PTL_NO_MEMORY;
	elf_unwinder_begin(space->files);
	while (space->added < space->count)
		add_map(import, space, &space->maps[space->added++]);
	elf_unwinder_end(space->files);
	return 0;
}

/* Extracts the registers that unwinding needs. Returns false if the sample lacks some. */
static bool take_registers(const struct perf_sample *sample, uint64_t registers[ELF_UNWIND_REGISTER_COUNT])
{
	const uint64_t mask = sample->attr->registers;
	size_t at = 0, taken = 0;

	if ((mask & ELF_UNWIND_REGISTERS) != ELF_UNWIND_REGISTERS)
		return false;
	for (unsigned bit = 0; bit < 64; bit++) {
		if (!(mask >> bit & 1))
			continue;
		if (((uint64_t)ELF_UNWIND_REGISTERS) >> bit & 1)
			registers[taken++] = common_load64(sample->registers.words.data + 8 * at);
		at++;
	}
	return true;
}

int perf_unwind_sample(struct perf_import *import, struct perf_sample *sample)
{
	struct perf_unwinder *unwinder = &import->unwinder;
	struct elf_unwind_sample copy = {.pid = sample->pid, .stack = sample->stack, .stack_size = sample->stack_size};
	struct perf_space *space = find_space(unwinder, sample->pid);
	uint64_t frames[ELF_UNWIND_FRAMES];
	size_t count = 0;
	bool whole = false;
	int status;

	/* A kernel thread has no user stack. */
	if (!sample->registers.abi)
		return 0;
	if (sample->registers.abi == PERF_REGS_ABI_64 && take_registers(sample, copy.registers))
		frames[count++] = copy.registers[ELF_UNWIND_IP];
	else if (sample->user && sample->has_ip)
		frames[count++] = sample->ip;
	if (space && sample->registers.abi == PERF_REGS_ABI_64 && count) {
		status = open_files(import, space);
		if (status)
			return status;
		count = elf_unwind(space->files, &copy, frames, &whole);
	}
	import->outcome.cut_stacks += !whole;
	unwinder->chain.size = 0;
	common_write_bytes(&unwinder->chain, sample->callchain, sample->callchain_count * 8);
	for (size_t i = 0; i < count; i++)
		common_write_le(&unwinder->chain, frames[i], 8);
	if (!whole)
		common_write_le(&unwinder->chain, 0, 8);
	if (unwinder->chain.failed)
		return common_fail_memory("a stack", unwinder->chain.size);
	sample->callchain = unwinder->chain.data;
	sample->callchain_count = unwinder->chain.size / 8;
	return 0;
}
