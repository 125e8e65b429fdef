/* SPDX-License-Identifier: BSD-2-Clause */
/* Parser of MMAP and MMAP2 records. */
#ifndef IMPORT_PERF_MAPPING_H
#define IMPORT_PERF_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/perf/file.h"

struct perf_build_id {
	uint8_t size; /* 0: unknown */
	uint8_t bytes[PERF_BUILD_ID_MAX];
};

/* perf's name of the kernel, followed by the symbol whose address is the mapping's offset */
#define PERF_KERNEL_NAME "[kernel.kallsyms]"

struct perf_mapping {
	uint32_t pid, tid;
	bool kernel;      /* code of the kernel, which belongs to no process */
	uint32_t machine; /* index of a virtual machine; 0: the recorded machine */
	uint64_t base, size, offset;
	uint32_t device_major, device_minor;
	uint64_t inode;
	struct perf_build_id id;
	uint32_t protection;
	char path[4096]; /* as in ptl/kernel.h: "/memfd:NAME" becomes "memfd:NAME", and " (deleted)" is removed */
};

/* Parses a record. Returns false if the record is too short. */
bool perf_mapping_parse(const struct perf_record *record, size_t body, struct perf_mapping *mapping);

/*
 * Whether the mapping is executable memory of a process or of the kernel. The kernel mapping of older kernels begins at
 * address 0, or has size 0: clips *mapping to the kernel half of the address space.
 */
bool perf_mapping_is_code(struct perf_mapping *mapping);

/* Returns the symbol behind perf's name of the kernel, which may be ""; NULL: perf does not name the kernel. */
const char *perf_kernel_reference(const char *name);
/* Whether perf names the kernel itself: of the recorded machine, or of a virtual machine. */
bool perf_kernel_is_name(const char *name);

#endif
