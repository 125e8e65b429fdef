/* SPDX-License-Identifier: BSD-2-Clause */
/* MiniDebugInfo: a small ELF file with a symbol table, compressed by xz, in the section .gnu_debugdata of another. */
#ifndef ELF_MINI_DEBUG_H
#define ELF_MINI_DEBUG_H

#include "elf/file.h"

/*
 * Opens it; *mini is NULL where there is none, and *data is what it lies in: the caller closes the one, and then frees
 * the other. PTL_CORRUPT; PTL_UNSUPPORTED where it is larger than ELF_MINI_MAX; PTL_NO_MEMORY.
 */
int elf_mini_open(const struct elf_file *elf, struct elf_file **mini, uint8_t **data);

#define ELF_MINI_MAX ((size_t)64 << 20) /* unpacked: that of libc has 200 KB */

#endif
