/* SPDX-License-Identifier: BSD-2-Clause */
/* The vdso: kernel code that each process maps, without a file. */
#ifndef IMPORT_PERF_VDSO_H
#define IMPORT_PERF_VDSO_H

#include <stdbool.h>
#include <stdint.h>

#define PERF_VDSO_NAME "[vdso]"

/* Whether the path names the vdso. */
bool perf_is_vdso(const char *path);

/* This machine's vdso in a memory file. */
struct perf_vdso {
	int fd; /* -1: not available */
	bool copied;
};

/* Returns a descriptor of the file, which the caller closes; -1: no memory, or the kernel provides no vdso. */
int perf_vdso_open(struct perf_vdso *vdso);
void perf_vdso_close(struct perf_vdso *vdso);

#endif
