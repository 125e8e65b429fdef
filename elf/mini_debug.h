/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MiniDebugInfo: a small ELF file with a symbol table, compressed by xz, in the section .gnu_debugdata of an ELF file.
 */
#ifndef ELF_MINI_DEBUG_H
#define ELF_MINI_DEBUG_H

#include "elf/file.h"

/*
 * Unpacks and opens MiniDebugInfo. *mini is NULL without the section. The caller closes *mini and then frees *data,
 * which holds its bytes. PTL_CORRUPT; PTL_UNSUPPORTED for more than ELF_MINI_MAX bytes; PTL_NO_MEMORY.
 */
int elf_mini_open(const struct elf_file *elf, struct elf_file **mini, uint8_t **data);

#define ELF_MINI_MAX ((size_t)64 << 20) /* bytes unpacked; that of libc has 200 KB */

#endif
