/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the files that a process has mapped, for unwinding. */
#include "record/kernel_event/unwind.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"

#define PROCESSES_MAX 256u

/* Mapped files of a process. */
struct unwound {
	struct elf_unwinder *files; /* NULL: none */
	dev_t device;               /* device and inode of the executable */
	ino_t inode;
	uint32_t pid;
	uint64_t program; /* id of the reported program whose files these are; 0: files are from /proc */
	size_t added;     /* number of the program's maps already added */
	unsigned replaced;
};

/* ---- processes ------------------------------------------------------------------------------- */

static void forget_unwound(struct unwound *process)
{
	elf_unwinder_free(process->files);
	process->files = NULL;
}

/* Reads the mapped files from /proc. Keeps the known files if the process is gone or /proc lacks the address. */
static void read_mappings(struct unwound *process, uint64_t address)
{
	struct elf_unwinder *files = elf_unwinder_new();

	if (!files)
		return;
	if (!elf_unwinder_look(files, process->pid) || !elf_unwinder_has(files, address)) {
		elf_unwinder_free(files);
		return;
	}
	forget_unwound(process);
	process->files = files;
}

/* Returns whether the process has another executable than before: an execve replaces all mapped files. */
static bool executes_another(struct unwound *process)
{
	const struct unwound before = *process;
	struct stat program;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/exe", process->pid);
	if (stat(path, &program) < 0)
		return false;
	process->device = program.st_dev;
	process->inode = program.st_ino;
	return before.device != program.st_dev || before.inode != program.st_ino;
}

/* Opens a mapped file, by the root folder of the process if the process lives. -1: file is gone or is another inode. */
static int open_mapped(uint32_t pid, const struct kernel_event_mapped *map)
{
	char path[4200];
	struct stat info;
	int fd = -1;

	for (int i = 0; fd < 0 && i < 2; i++) {
		snprintf(path, sizeof(path), "/proc/%u/root%s", pid, map->path);
		fd = open(i ? map->path : path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd >= 0 && (fstat(fd, &info) < 0 || info.st_ino != map->inode || !S_ISREG(info.st_mode))) {
			close(fd);
			fd = -1;
		}
	}
	return fd;
}

/* Adds the files that the kernel has reported since the last call. */
static void add_reported(struct unwound *process, const struct kernel_event_program *program)
{
	if (process->program != program->id || process->replaced != program->replaced) {
		forget_unwound(process);
		process->program = program->id;
		process->replaced = program->replaced;
		process->added = 0;
	}
	if (process->files && process->added == program->count)
		return;
	if (!process->files)
		process->files = elf_unwinder_new();
	if (!process->files)
		return;
	elf_unwinder_begin(process->files);
	while (process->added < program->count) {
		const struct kernel_event_mapped *map = &program->maps[process->added++];
		const int fd = open_mapped(process->pid, map);

		if (fd >= 0)
			elf_unwinder_add(process->files, map->path, fd, map->base, map->file_offset);
	}
	elf_unwinder_end(process->files);
}

static void look_at_proc(struct unwound *process, uint64_t address)
{
	process->program = 0;
	if (executes_another(process) || !process->files || !elf_unwinder_has(process->files, address))
		read_mappings(process, address);
}

static void forget_all(struct kernel_event_unwinder *unwinder)
{
	uint64_t pid, value;
	size_t at = 0;

	while (common_hash_map_next(&unwinder->processes, &at, &pid, &value)) {
		forget_unwound((struct unwound *)(uintptr_t)value);
		free((struct unwound *)(uintptr_t)value);
	}
	common_hash_map_free(&unwinder->processes);
}

void kernel_event_unwinder_free(struct kernel_event_unwinder *unwinder)
{
	forget_all(unwinder);
	kernel_event_programs_close(unwinder->programs);
	unwinder->programs = NULL;
}

static struct unwound *find_unwound(struct kernel_event_unwinder *unwinder, uint32_t pid)
{
	const uint64_t *known = common_hash_map_get(&unwinder->processes, pid);
	struct unwound *process;

	if (known)
		return (struct unwound *)(uintptr_t)*known;
	/* Most of these processes have ended. */
	if (unwinder->processes.used >= PROCESSES_MAX)
		forget_all(unwinder);
	process = calloc(1, sizeof(*process));
	if (process)
		process->pid = pid;
	if (!process || common_hash_map_put(&unwinder->processes, pid, (uintptr_t)process) < 0) {
		free(process);
		common_fail_memory("a process", sizeof(*process));
		return NULL;
	}
	return process;
}

/* ---- unwinding ------------------------------------------------------------------------------- */

int kernel_event_unwind(struct kernel_event_unwinder *unwinder, const struct elf_unwind_sample *sample, uint64_t time,
			uint64_t *frames)
{
	const struct kernel_event_program *program = unwinder->programs ? kernel_event_programs_find(unwinder->programs,
												     sample->pid, time)
									: NULL;
	struct unwound *process = find_unwound(unwinder, sample->pid);
	bool whole;

	if (!process)
		return PTL_NO_MEMORY;
	if (program)
		add_reported(process, program);
	else
		look_at_proc(process, sample->registers[ELF_UNWIND_IP]);
	if (process->files)
		return (int)elf_unwind(process->files, sample, frames, &whole);
	unwinder->gone++;
	frames[0] = sample->registers[ELF_UNWIND_IP];
	return 1;
}
