/* SPDX-License-Identifier: BSD-2-Clause */
/* The vdso: code of the kernel that every process has mapped, without a file. */
#ifndef IMPORT_PERF_VDSO_H
#define IMPORT_PERF_VDSO_H

#include <stdbool.h>
#include <stdint.h>

#define PERF_VDSO_NAME "[vdso]"

/* Whether a mapping of this name is the vdso. */
bool perf_is_vdso(const char *path);

/* The vdso of this machine, as a file in memory. */
struct perf_vdso {
	int fd; /* -1: not to be had */
	bool copied;
};

/* Returns a descriptor of the file, for the caller to close; -1: without memory, or if the kernel gives no vdso. */
int perf_vdso_open(struct perf_vdso *vdso);
void perf_vdso_close(struct perf_vdso *vdso);

#endif
