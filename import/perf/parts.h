/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files data.0, data.1, ... in a folder of perf record --threads. Each has records of a recording thread, without a
 * header.
 */
#ifndef IMPORT_PERF_PARTS_H
#define IMPORT_PERF_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/perf/file.h"

struct perf_part {
	struct perf_file *file;
	int fd;
	uint64_t time; /* time of the last record with a time */
	bool ended;
};

/* Zero-initialised: no parts. */
struct perf_parts {
	struct perf_part *list;
	size_t count;
};

/* Opens all parts of the folder; no parts if `folder` is no folder. Returns PTL_NO_MEMORY, PTL_SYSTEM. */
int perf_parts_open(struct perf_parts *parts, const char *folder);
void perf_parts_close(struct perf_parts *parts);
/* Returns the part with the earliest time, so that parts are read side by side; NULL: all parts have ended. */
struct perf_part *perf_parts_next(struct perf_parts *parts);

#endif
