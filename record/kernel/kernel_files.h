/* SPDX-License-Identifier: BSD-2-Clause */
/* Which kernel and which modules run, and the files they were loaded from. */
#ifndef RECORD_KERNEL_KERNEL_FILES_H
#define RECORD_KERNEL_KERNEL_FILES_H

#include <ptl/kernel.h>

#include "record/kernel/kernel_file.h"

#define RECORD_KERNEL_PATH 4300

/* root: a folder that stands for /, or "". The build id's size; 0: the kernel does not say. module: "": the kernel itself. */
size_t record_kernel_build_id(const char *root, const char *module, uint8_t id[PTL_BUILD_ID_MAX]);

/*
 * Opens the file of the kernel that has this build id, where debuggers and perf look for it, and says which one it is. PTL_SYSTEM:
 * there is none.
 */
int record_kernel_find_file(const char *root, const uint8_t *id, size_t id_size, struct record_kernel_file **file,
			    char path[RECORD_KERNEL_PATH]);

#endif
