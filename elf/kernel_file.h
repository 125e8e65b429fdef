/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads bytes by address from /proc/kcore (an ELF core of the running kernel) or from a vmlinux. */
#ifndef ELF_KERNEL_FILE_H
#define ELF_KERNEL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_kernel_file;

/*
 * Opens an ELF file for this machine; program headers are checked at use. Fails with PTL_SYSTEM, PTL_NOT_OURS for
 * another file, PTL_CORRUPT or PTL_NO_MEMORY.
 */
int elf_kernel_file_open(const char *path, struct elf_kernel_file **file);
/* Accepts NULL. */
void elf_kernel_file_close(struct elf_kernel_file *file);

/*
 * Finds the beginning of the kernel's code: the lowest executable segment in the upper half. Returns false without such
 * a segment.
 */
bool elf_kernel_file_text(const struct elf_kernel_file *file, uint64_t *address);
/* Reads up to `size` contiguous bytes. Returns the number of bytes. */
size_t elf_kernel_file_read(const struct elf_kernel_file *file, uint64_t address, uint8_t *bytes, size_t size);

#endif
