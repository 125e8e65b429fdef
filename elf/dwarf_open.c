/* SPDX-License-Identifier: BSD-2-Clause */
#include "elf/dwarf_open.h"

#include <unistd.h>

#include "elf/dwarf_text.h"

#define EXIT_SYSTEM 4 /* equals COMMON_EXIT_SYSTEM, which belongs to the programs */

__attribute__((noreturn)) static void end_without_memory(void)
{
	static const char text[] = "error: no memory for debug information\n";

	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(EXIT_SYSTEM);
}

Dwarf *elf_dwarf_open(Elf *elf)
{
	Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);

	if (!dwarf)
		return NULL;
	if (!elf_dwarf_texts_end(elf)) {
		dwarf_end(dwarf);
		return NULL;
	}
	dwarf_new_oom_handler(dwarf, end_without_memory);
	return dwarf;
}

Elf *elf_open_empty(void)
{
	static const Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_REL,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(Elf64_Ehdr),
	};

	/* libelf changes no file that is read. */
	return elf_memory((char *)(uintptr_t)&header, sizeof(header));
}
