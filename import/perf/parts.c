/* SPDX-License-Identifier: BSD-2-Clause */
/* Folders written by perf record --threads. */
#include "import/perf/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/error.h"
#include "common/vector.h"

#define PARTS_MAX 1024u /* perf writes a file per recording thread; at most one thread per CPU */

void perf_parts_close(struct perf_parts *parts)
{
	for (size_t i = 0; i < parts->count; i++) {
		perf_file_close(parts->list[i].file);
		close(parts->list[i].fd);
	}
	free(parts->list);
	*parts = (struct perf_parts){0};
}

/* Opens the next part. Returns 1; 0: no more parts. */
static int open_part(struct perf_parts *parts, int folder)
{
	struct perf_part part = {0};
	char name[32];
	int status;

	if (!common_vector_room(&parts->list, parts->count, sizeof(*parts->list)))
		return common_fail_memory("parts of perf.data", (parts->count + 1) * sizeof(*parts->list));
	snprintf(name, sizeof(name), "data.%zu", parts->count);
	part.fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (part.fd < 0)
		return errno == ENOENT ? 0 : common_fail_errno("%s: cannot open", name);
	status = perf_file_open_part(part.fd, &part.file);
	if (status) {
		close(part.fd);
		return common_fail_in(status, "%s", name);
	}
	parts->list[parts->count++] = part;
	return 1;
}

int perf_parts_open(struct perf_parts *parts, const char *folder)
{
	const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int status = 1;

	*parts = (struct perf_parts){0};
	if (fd < 0)
		return 0;
	while (status > 0 && parts->count < PARTS_MAX)
		status = open_part(parts, fd);
	close(fd);
	return status < 0 ? status : 0;
}

struct perf_part *perf_parts_next(struct perf_parts *parts)
{
	struct perf_part *next = NULL;

	for (size_t i = 0; i < parts->count; i++)
		if (!parts->list[i].ended && (!next || parts->list[i].time < next->time))
			next = &parts->list[i];
	return next;
}
