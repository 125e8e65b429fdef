/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes by their addresses, out of /proc/kcore (an ELF core of the running kernel), or of a vmlinux. */
#ifndef RECORD_KERNEL_KERNEL_FILE_H
#define RECORD_KERNEL_KERNEL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record_kernel_file;

/*
 * Opens an ELF file of this machine; what its program headers say is checked when it is used. PTL_SYSTEM; PTL_NOT_OURS: it is
 * none; PTL_CORRUPT; PTL_NO_MEMORY.
 */
int record_kernel_file_open(const char *path, struct record_kernel_file **file);
/* NULL is none. */
void record_kernel_file_close(struct record_kernel_file *file);

/* Where the file says that the code of the kernel begins: the lowest executable segment in the upper half. False: nowhere. */
bool record_kernel_file_text(const struct record_kernel_file *file, uint64_t *address);
/* Reads up to size bytes from an address on; returns how many are there in a row. */
size_t record_kernel_file_read(const struct record_kernel_file *file, uint64_t address, uint8_t *bytes, size_t size);

#endif
