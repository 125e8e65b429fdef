/* SPDX-License-Identifier: BSD-2-Clause */
/* The programs that the software source needs: qemu-x86_64 and our plugin for it. */
#ifndef RECORD_QEMU_TOOLS_H
#define RECORD_QEMU_TOOLS_H

#include <limits.h>
#include <stddef.h>

struct record_qemu_tools {
	char qemu[PATH_MAX];   /* absolute */
	char plugin[PATH_MAX]; /* absolute */
};

/*
 * Finds qemu-x86_64 (wanted: a path, or NULL to search $PATH) and ptl-qemu.so: in $PTL_LIBDIR, or
 * in ../lib/ptl of the folder of our own executable. 0; or a ptl_status with the reason, and a
 * remedy in hint.
 */
int record_qemu_tools_find(const char *wanted, struct record_qemu_tools *tools, char *hint, size_t hint_size);

/* The first line of "qemu --version"; "" where it says nothing. */
void record_qemu_version(const char *qemu, char *text, size_t size);

#endif
