/* SPDX-License-Identifier: BSD-2-Clause */
#include "elf/dwarf_open.h"

#include <gelf.h>
#include <string.h>
#include <unistd.h>

#define EXIT_SYSTEM 4 /* equals COMMON_EXIT_SYSTEM, which belongs to the programs */

__attribute__((noreturn)) static void end_without_memory(void)
{
	static const char text[] = "error: no memory for debug information\n";

	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(EXIT_SYSTEM);
}

static bool has_texts(const char *section)
{
	return section && (!strcmp(section, ".debug_str") || !strcmp(section, ".debug_str.dwo") ||
			   !strncmp(section, ".debug_line_str", 15) || !strcmp(section, ".zdebug_str"));
}

/* Checks that the last text of each section of texts has an end, which libdw 0.188 takes for granted. */
static bool texts_end(Elf *elf)
{
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return true;
	for (Elf_Scn *section = elf_nextscn(elf, NULL); section; section = elf_nextscn(elf, section)) {
		GElf_Shdr header;
		const Elf_Data *data = NULL;

		if (gelf_getshdr(section, &header) && has_texts(elf_strptr(elf, names, header.sh_name)))
			data = elf_getdata(section, NULL);
		if (data && data->d_buf && data->d_size && ((const char *)data->d_buf)[data->d_size - 1] != 0)
			return false;
	}
	return true;
}

Dwarf *elf_dwarf_open(Elf *elf)
{
	Dwarf *dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);

	if (!dwarf)
		return NULL;
	if (!texts_end(elf)) {
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
