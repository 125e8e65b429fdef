/* SPDX-License-Identifier: BSD-2-Clause */
/* The files data.0, data.1, ... of a folder that perf record --threads writes: records of its threads, without headers. */
#ifndef IMPORT_PERF_PARTS_H
#define IMPORT_PERF_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/perf/file.h"

struct perf_part {
	struct perf_file *file;
	int fd;
	uint64_t time; /* of its last record that had one */
	bool ended;
};

/* Zero-initialised has none. */
struct perf_parts {
	struct perf_part *list;
	size_t count;
};

/* Opens those that the folder has; none where it is no folder. PTL_NO_MEMORY, PTL_SYSTEM. */
int perf_parts_open(struct perf_parts *parts, const char *folder);
void perf_parts_close(struct perf_parts *parts);
/* The one that is farthest behind in time, so that they go side by side; NULL: all have ended. */
struct perf_part *perf_parts_next(struct perf_parts *parts);

#endif
