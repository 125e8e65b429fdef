/* SPDX-License-Identifier: BSD-2-Clause */
/* Has libdw unwind, with the registers and the memory of a sample in place of a process. */
#include "record/tracepoint/unwind.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/error.h"
#include "elf/file.h"

#define PROCESSES_MAX 256u

/* As the kernel counts registers (asm/perf_regs.h), those of the mask in a row. */
enum { AX, BX, CX, DX, SI, DI, BP, SP, IP, R8 };

/* As DWARF counts them; the return address, which is 16, is where it is. */
static const uint8_t of_dwarf[] = {AX,     DX,     CX,     BX,     SI,     DI,     BP,     SP, R8,
				   R8 + 1, R8 + 2, R8 + 3, R8 + 4, R8 + 5, R8 + 6, R8 + 7, IP};

/* A process whose mapped files are known. */
struct unwound {
	Dwfl *dwfl;
	dev_t device; /* of its program */
	ino_t inode;
	bool attached;
	uint32_t pid;
	uint64_t program; /* id of the reported one whose files these are; 0: /proc has shown them */
	size_t added;     /* how many of its maps were looked at */
	unsigned replaced;
	/* The sample at hand: */
	const uint64_t *registers;
	const uint8_t *stack;
	size_t stack_size;
	uint64_t *frames;
	int count;
};

/* ---- what libdw asks ------------------------------------------------------------------------- */

static pid_t next_thread(Dwfl *dwfl, void *context, void **thread)
{
	const struct unwound *process = context;

	(void)dwfl;
	if (*thread)
		return 0;
	*thread = context;
	return (pid_t)process->pid;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *context)
{
	const struct unwound *process = context;
	const uint64_t offset = address - process->registers[SP];

	(void)dwfl;
	if (process->stack_size < 8 || offset > process->stack_size - 8)
		return false;
	*result = common_load64(process->stack + offset);
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *context)
{
	const struct unwound *process = context;
	Dwarf_Word words[sizeof(of_dwarf)];

	for (size_t i = 0; i < sizeof(of_dwarf); i++)
		words[i] = process->registers[of_dwarf[i]];
	return dwfl_thread_state_registers(thread, 0, sizeof(of_dwarf), words);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

/* What unwinding needs is in the files themselves (.eh_frame). */
static int no_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, const char *file,
			 const char *link, GElf_Word checksum, char **found)
{
	(void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)checksum, (void)found;
	return -1;
}

static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf, .find_debuginfo = no_debug_file};

/* ---- processes ------------------------------------------------------------------------------- */

static void forget(struct unwound *process)
{
	if (process->dwfl)
		dwfl_end(process->dwfl);
	process->dwfl = NULL;
	process->attached = false;
}

/* Reads what the process has mapped now; keeps what was known of one that is gone. */
static void look(struct unwound *process)
{
	Dwfl *dwfl = dwfl_begin(&callbacks);

	if (!dwfl)
		return;
	if (dwfl_linux_proc_report(dwfl, (pid_t)process->pid) != 0 || dwfl_report_end(dwfl, NULL, NULL) != 0 ||
	    !dwfl_addrmodule(dwfl, process->registers[IP])) {
		dwfl_end(dwfl);
		return;
	}
	forget(process);
	process->dwfl = dwfl;
}

/* A process that executes another program has other files mapped. */
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

/* The file that was mapped, as the process sees it while it lives; -1: it is not there any more. */
static int open_mapped(uint32_t pid, const struct tracepoint_mapped *map)
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

static bool find_bias(int fd, const struct tracepoint_mapped *map, uint64_t *bias)
{
	struct elf_file *elf;
	uint64_t address;
	bool found;

	if (elf_open(fd, &elf) < 0)
		return false;
	found = elf_address(elf, map->file_offset, &address);
	elf_close(elf);
	*bias = map->base - address;
	return found;
}

static void add_module(struct unwound *process, const struct tracepoint_mapped *map)
{
	const int fd = open_mapped(process->pid, map);
	uint64_t bias;

	if (fd < 0)
		return;
	/* libdw closes what it takes. */
	if (!find_bias(fd, map, &bias) || !dwfl_report_elf(process->dwfl, map->path, map->path, fd, bias, true))
		close(fd);
}

/* Files that the kernel has reported since the last time. */
static void add_reported(struct unwound *process, const struct tracepoint_program *program)
{
	if (process->program != program->id || process->replaced != program->replaced) {
		forget(process);
		process->program = program->id;
		process->replaced = program->replaced;
		process->added = 0;
	}
	if (process->dwfl && process->added == program->count)
		return;
	if (process->dwfl)
		dwfl_report_begin_add(process->dwfl);
	else
		process->dwfl = dwfl_begin(&callbacks);
	if (!process->dwfl)
		return;
	while (process->added < program->count)
		add_module(process, &program->maps[process->added++]);
	dwfl_report_end(process->dwfl, NULL, NULL);
}

static void look_at_proc(struct unwound *process)
{
	process->program = 0;
	if (executes_another(process) || !process->dwfl || !dwfl_addrmodule(process->dwfl, process->registers[IP]))
		look(process);
}

static void forget_all(struct tracepoint_unwinder *unwinder)
{
	uint64_t pid, value;
	size_t at = 0;

	while (common_hash_map_next(&unwinder->processes, &at, &pid, &value)) {
		forget((struct unwound *)(uintptr_t)value);
		free((struct unwound *)(uintptr_t)value);
	}
	common_hash_map_free(&unwinder->processes);
}

void tracepoint_unwinder_free(struct tracepoint_unwinder *unwinder)
{
	forget_all(unwinder);
	tracepoint_programs_close(unwinder->programs);
	unwinder->programs = NULL;
}

static struct unwound *find(struct tracepoint_unwinder *unwinder, uint32_t pid)
{
	const uint64_t *known = common_hash_map_get(&unwinder->processes, pid);
	struct unwound *process;

	if (known)
		return (struct unwound *)(uintptr_t)*known;
	/* Most of so many have ended. */
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

static int take_frame(Dwfl_Frame *frame, void *context)
{
	struct unwound *process = context;
	Dwarf_Addr address;

	if (process->count == TRACEPOINT_UNWIND_FRAMES || !dwfl_frame_pc(frame, &address, NULL))
		return DWARF_CB_ABORT;
	process->frames[process->count++] = address;
	return DWARF_CB_OK;
}

int tracepoint_unwind(struct tracepoint_unwinder *unwinder, uint32_t pid, uint64_t time, const uint64_t *registers,
		      const uint8_t *stack, size_t stack_size, uint64_t *frames)
{
	const struct tracepoint_program *program = unwinder->programs
							   ? tracepoint_programs_find(unwinder->programs, pid, time)
							   : NULL;
	struct unwound *process = find(unwinder, pid);

	if (!process)
		return PTL_NO_MEMORY;
	process->registers = registers;
	process->stack = stack;
	process->stack_size = stack_size;
	process->frames = frames;
	process->count = 0;
	if (program)
		add_reported(process, program);
	else
		look_at_proc(process);
	if (process->dwfl && !process->attached)
		process->attached = dwfl_attach_state(process->dwfl, NULL, (pid_t)pid, &thread_callbacks, process);
	if (process->attached)
		(void)dwfl_getthread_frames(process->dwfl, (pid_t)pid, take_frame, process);
	unwinder->gone += !process->dwfl;
	if (!process->count)
		frames[process->count++] = registers[IP];
	return process->count;
}
