/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's symbols, as /proc/kallsyms lists them. */
#ifndef ELF_KALLSYMS_H
#define ELF_KALLSYMS_H

#include <stdbool.h>
#include <stdint.h>

/* A symbol. The strings live until visit() returns. */
struct elf_kallsym {
	uint64_t address;
	char type; /* letter of nm */
	const char *name;
	const char *module; /* "ext4", "bpf"; "" for the kernel itself */
};

/* Whether the symbol is a function. */
bool elf_kallsym_is_code(const struct elf_kallsym *symbol);

/*
 * Calls visit with each symbol, in the order of the file. Stops at a result other than 0 and returns this result. Skips
 * lines that are no symbols. PTL_SYSTEM: the file cannot be read, or the kernel hides the addresses from this user (all
 * are 0).
 */
int elf_kallsyms_read(const char *path, int (*visit)(void *context, const struct elf_kallsym *symbol), void *context);

#endif
