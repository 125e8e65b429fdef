/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's symbols, as /proc/kallsyms lists them. */
#ifndef ELF_KALLSYMS_H
#define ELF_KALLSYMS_H

#include <stdbool.h>
#include <stdint.h>

/* Strings live until the visit returns. */
struct elf_kallsym {
	uint64_t address;
	char type; /* as nm has it */
	const char *name;
	const char *module; /* "ext4", "bpf"; "": the kernel itself */
};

/* Whether the symbol is of code. */
bool elf_kallsym_is_code(const struct elf_kallsym *symbol);

/*
 * Calls visit with each symbol, in the order of the file, until it returns a status; that is returned. Lines that are no symbols
 * are left out. PTL_SYSTEM: the file cannot be read, or the kernel hides addresses from this user (all are 0).
 */
int elf_kallsyms_read(const char *path, int (*visit)(void *context, const struct elf_kallsym *symbol), void *context);

#endif
