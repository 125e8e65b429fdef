/* SPDX-License-Identifier: BSD-2-Clause */
/* MMAP and MMAP2 records. */
#ifndef IMPORT_PERF_MAPPING_H
#define IMPORT_PERF_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/perf/file.h"

struct perf_build_id {
	uint8_t size; /* 0: not known */
	uint8_t bytes[PERF_BUILD_ID_MAX];
};

struct perf_mapping {
	uint32_t pid, tid;
	bool kernel; /* the kernel's own code, which is of no process */
	uint64_t base, size, offset;
	uint32_t device_major, device_minor;
	uint64_t inode;
	struct perf_build_id id;
	uint32_t protection;
	char path[4096]; /* "/memfd:NAME" as "memfd:NAME", and without " (deleted)": names as ptl/kernel.h has them */
};

/* Takes a record apart. False: it is too short. */
bool perf_mapping_parse(const struct perf_record *record, size_t body, struct perf_mapping *mapping);

/*
 * Whether the mapping is executable memory of a process or of the kernel. Older kernels' mapping begins at address 0, or has a size of
 * 0: *mapping of the kernel is cut to the kernel's half of the address space.
 */
bool perf_mapping_is_code(struct perf_mapping *mapping);

#endif
