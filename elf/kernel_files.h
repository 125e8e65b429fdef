/* SPDX-License-Identifier: BSD-2-Clause */
/* Build ids of the running kernel and its modules, and the kernel's file. */
#ifndef ELF_KERNEL_FILES_H
#define ELF_KERNEL_FILES_H

#include <ptl/kernel.h>

#include "elf/kernel_file.h"

#define ELF_KERNEL_PATH 4300

/*
 * Reads a build id, and returns its size; 0 if unavailable. root: folder in place of /, or "". module: "" for the
 * kernel itself.
 */
size_t elf_kernel_build_id(const char *root, const char *module, uint8_t id[PTL_BUILD_ID_MAX]);

/*
 * Opens the kernel's file with this build id in the places that debuggers and perf search. release: of the kernel; NULL:
 * of the running kernel. path: set to its path. Fails with PTL_SYSTEM if no place has the file.
 */
int elf_kernel_find_file(const char *root, const char *release, const uint8_t *id, size_t id_size,
			 struct elf_kernel_file **file, char path[ELF_KERNEL_PATH]);

#endif
