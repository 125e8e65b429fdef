/* SPDX-License-Identifier: BSD-2-Clause */
/* Build ids of the running kernel and its modules, and the kernel's file. */
#ifndef RECORD_KERNEL_CODE_KERNEL_FILES_H
#define RECORD_KERNEL_CODE_KERNEL_FILES_H

#include <ptl/kernel.h>

#include "record/kernel_code/kernel_file.h"

#define RECORD_KERNEL_PATH 4300

/*
 * Reads a build id, and returns its size; 0 if unavailable. root: folder in place of /, or "". module: "" for the
 * kernel itself.
 */
size_t record_kernel_build_id(const char *root, const char *module, uint8_t id[PTL_BUILD_ID_MAX]);

/*
 * Opens the kernel's file with this build id in the places that debuggers and perf search. path: set to its path. Fails
 * with PTL_SYSTEM if no place has the file.
 */
int record_kernel_find_file(const char *root, const uint8_t *id, size_t id_size, struct record_kernel_file **file,
			    char path[RECORD_KERNEL_PATH]);

#endif
