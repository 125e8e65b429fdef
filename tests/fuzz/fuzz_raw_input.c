/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzes raw PT, a memory file and its map. The resulting trace must be undamaged. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ptl/reader.h>

#include "common/bytes.h"
#include "common/file.h"
#include "common/program/message.h"
#include "import/raw/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct file {
	int fd;
	char path[32];
};

static struct file make_file(const uint8_t *data, size_t size)
{
	struct file file = {.fd = memfd_create("raw", MFD_CLOEXEC)};

	if (file.fd < 0 || common_write_all(file.fd, data, size))
		abort();
	snprintf(file.path, sizeof(file.path), "/proc/self/fd/%d", file.fd);
	return file;
}

static int ignore(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	(void)context;
	(void)trace;
	(void)event;
	return 0;
}

/* Checks the written trace and closes fd. All code of an image must be readable. */
static void check(int fd)
{
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = ignore};
	struct ptl_trace *trace;
	uint8_t *data;
	size_t size;

	if (ptl_open_fd(fd, "trace", NULL, &trace) || ptl_process(trace, NULL, &callbacks, NULL) ||
	    ptl_damage_count(trace))
		abort();
	for (size_t i = 0; i < ptl_blob_count(trace); i++) {
		if (ptl_blob_read(trace, ptl_blob_at(trace, i)->hash, UINT16_MAX, &data, &size))
			abort();
		free(data);
	}
	ptl_close(trace);
}

static void import(const struct file *map, const struct file *memory, const struct file *pt)
{
	const struct ptl_writer_options options = {.size = sizeof(options), .level = 1, .buffer_size = 4096};
	const char *list[] = {pt->path};
	const struct import_raw settings = {
		.pt = {.list = list, .count = 1}, .memory = memory->path, .memory_map = map->path};
	struct import_spool spool = {.fd = -1};
	const int output = memfd_create("ptl", MFD_CLOEXEC);

	if (output < 0 || ptl_writer_open(dup(output), &options, &spool.writer))
		abort();
	if (!import_input_raw(&settings, &spool)) {
		if (ptl_writer_close(spool.writer))
			abort();
		check(output);
	} else {
		ptl_writer_abandon(spool.writer);
		close(output);
	}
	free(spool.origins);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t map_size = size < 4 ? 0 : common_load16(data),
		     memory_size = size < 4 ? 0 : common_load16(data + 2);
	struct file map, memory, pt;

	if (size < 4 || map_size + memory_size > size - 4)
		return 0;
	common_message_start("fuzz_raw_input", true);
	map = make_file(data + 4, map_size);
	memory = make_file(data + 4 + map_size, memory_size);
	pt = make_file(data + 4 + map_size + memory_size, size - 4 - map_size - memory_size);
	import(&map, &memory, &pt);
	close(map.fd);
	close(memory.fd);
	close(pt.fd);
	return 0;
}
