/* SPDX-License-Identifier: BSD-2-Clause */
/* Unwinds by libdw, with the registers and the stack of a sample instead of a live process. */
#include "elf/unwind.h"

#include <elfutils/libdwfl.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/error.h"
#include "elf/file.h"

/* Register numbers of the kernel (asm/perf_regs.h), with only the registers of the mask counted. */
enum { AX, BX, CX, DX, SI, DI, BP, SP = ELF_UNWIND_SP, IP = ELF_UNWIND_IP, R8 };

/* Register numbers by DWARF number. DWARF's register 16, the return address, is IP. */
static const uint8_t of_dwarf[] = {AX,     DX,     CX,     BX,     SI,     DI,     BP,     SP, R8,
				   R8 + 1, R8 + 2, R8 + 3, R8 + 4, R8 + 5, R8 + 6, R8 + 7, IP};

struct elf_unwinder {
	Dwfl *dwfl; /* NULL: no known file */
	bool attached;
	/* The current sample: */
	const struct elf_unwind_sample *sample;
	uint64_t *frames;
	size_t count;
};

/* ---- callbacks of libdw ------------------------------------------------------------------------ */

static pid_t next_thread(Dwfl *dwfl, void *context, void **thread)
{
	const struct elf_unwinder *unwinder = context;

	(void)dwfl;
	if (*thread)
		return 0;
	*thread = context;
	return (pid_t)unwinder->sample->pid;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *context)
{
	const struct elf_unwind_sample *sample = ((const struct elf_unwinder *)context)->sample;
	const uint64_t offset = address - sample->registers[SP];

	(void)dwfl;
	if (sample->stack_size < 8 || offset > sample->stack_size - 8)
		return false;
	*result = common_load64(sample->stack + offset);
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *context)
{
	const struct elf_unwinder *unwinder = context;
	Dwarf_Word words[sizeof(of_dwarf)];

	for (size_t i = 0; i < sizeof(of_dwarf); i++)
		words[i] = unwinder->sample->registers[of_dwarf[i]];
	return dwfl_thread_state_registers(thread, 0, sizeof(of_dwarf), words);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

/* Unwinding needs only .eh_frame, which is in the files themselves. */
static int no_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, const char *file,
			 const char *link, GElf_Word checksum, char **found)
{
	(void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)checksum, (void)found;
	return -1;
}

static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf, .find_debuginfo = no_debug_file};

/* ---- files ----------------------------------------------------------------------------------- */

struct elf_unwinder *elf_unwinder_new(void)
{
	struct elf_unwinder *unwinder = calloc(1, sizeof(*unwinder));

	if (!unwinder)
		common_fail_memory("an unwinder", sizeof(*unwinder));
	return unwinder;
}

static void forget_program(struct elf_unwinder *unwinder)
{
	if (unwinder->dwfl)
		dwfl_end(unwinder->dwfl);
	unwinder->dwfl = NULL;
	unwinder->attached = false;
}

void elf_unwinder_free(struct elf_unwinder *unwinder)
{
	if (unwinder)
		forget_program(unwinder);
	free(unwinder);
}

void elf_unwinder_begin(struct elf_unwinder *unwinder)
{
	if (unwinder->dwfl)
		dwfl_report_begin_add(unwinder->dwfl);
	else
		unwinder->dwfl = dwfl_begin(&callbacks);
}

static bool find_bias(int fd, uint64_t base, uint64_t file_offset, uint64_t *bias)
{
	struct elf_file *elf;
	uint64_t address;
	bool found;

	if (elf_open(fd, &elf) < 0)
		return false;
	found = elf_address(elf, file_offset, &address);
	elf_close(elf);
	*bias = base - address;
	return found;
}

void elf_unwinder_add(struct elf_unwinder *unwinder, const char *path, int fd, uint64_t base, uint64_t file_offset)
{
	uint64_t bias;

	/* dwfl_report_elf owns the descriptor on success. */
	if (!unwinder->dwfl || !find_bias(fd, base, file_offset, &bias) ||
	    !dwfl_report_elf(unwinder->dwfl, path, path, fd, bias, true))
		close(fd);
}

void elf_unwinder_end(struct elf_unwinder *unwinder)
{
	if (unwinder->dwfl)
		dwfl_report_end(unwinder->dwfl, NULL, NULL);
}

bool elf_unwinder_has(const struct elf_unwinder *unwinder, uint64_t address)
{
	return unwinder->dwfl && dwfl_addrmodule(unwinder->dwfl, address);
}

bool elf_unwinder_look(struct elf_unwinder *unwinder, uint32_t pid)
{
	Dwfl *dwfl = dwfl_begin(&callbacks);

	if (!dwfl)
		return false;
	if (dwfl_linux_proc_report(dwfl, (pid_t)pid) != 0 || dwfl_report_end(dwfl, NULL, NULL) != 0) {
		dwfl_end(dwfl);
		return false;
	}
	forget_program(unwinder);
	unwinder->dwfl = dwfl;
	return true;
}

/* ---- unwinding ------------------------------------------------------------------------------- */

static int take_frame(Dwfl_Frame *frame, void *context)
{
	struct elf_unwinder *unwinder = context;
	Dwarf_Addr address;

	if (unwinder->count == ELF_UNWIND_FRAMES || !dwfl_frame_pc(frame, &address, NULL))
		return DWARF_CB_ABORT;
	unwinder->frames[unwinder->count++] = address;
	return DWARF_CB_OK;
}

size_t elf_unwind(struct elf_unwinder *unwinder, const struct elf_unwind_sample *sample,
		  uint64_t frames[ELF_UNWIND_FRAMES], bool *whole)
{
	*whole = false;
	unwinder->sample = sample;
	unwinder->frames = frames;
	unwinder->count = 0;
	if (unwinder->dwfl && !unwinder->attached)
		unwinder->attached = dwfl_attach_state(unwinder->dwfl, NULL, (pid_t)sample->pid, &thread_callbacks,
						       unwinder);
	if (unwinder->attached)
		*whole = dwfl_getthread_frames(unwinder->dwfl, (pid_t)sample->pid, take_frame, unwinder) == 0;
	if (!unwinder->count)
		frames[unwinder->count++] = sample->registers[IP];
	return unwinder->count;
}
