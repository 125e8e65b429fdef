/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes a whole trace file: opens the file with and without its index, and through a pipe, and reads everything.
 * Checksums are corrected first, so that the fuzzer reaches the code behind them. The replay's damage covers wrong
 * checksums.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ptl/reader.h>

#include "tests/fuzz/mend.h"
#include "tests/fuzz/read_trace.h"

#define PIPE_SIZE 65536u /* bytes that a pipe takes without a reader */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void open_and_read(int fd, bool ignore_index)
{
	const struct ptl_open_options options = {
		.size = sizeof(options), .ignore_index = ignore_index, .memory_limit = 1 << 20};
	const int copy = dup(fd);
	struct ptl_trace *trace;

	if (ptl_open_fd(copy, "fuzz", &options, &trace)) {
		close(copy);
		return;
	}
	read_everything(trace);
	ptl_close(trace);
}

/* Reads a complete file in real time, without waiting. */
static void read_in_real_time(const uint8_t *data, size_t size)
{
	const struct ptl_open_options open = {.size = sizeof(open), .memory_limit = 1 << 20};
	const struct ptl_realtime_options options = {.size = sizeof(options), .open = &open};
	struct ptl_trace *trace;
	int ends[2];

	if (size > PIPE_SIZE)
		return;
	if (pipe(ends) < 0 || (size && write(ends[1], data, size) != (ssize_t)size))
		abort();
	close(ends[1]);
	if (ptl_open_realtime_fd(ends[0], "fuzz", &options, &trace)) {
		close(ends[0]);
		return;
	}
	read_everything(trace);
	if (!ptl_realtime_over(trace))
		abort();
	ptl_close(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;
	int fd;

	if (size > SIZE_LIMIT)
		return 0;
	copy = malloc(size + 1);
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (!copy || fd < 0)
		abort();
	if (size)
		memcpy(copy, data, size);
	mend(copy, size);
	if (write(fd, copy, size) == (ssize_t)size) {
		open_and_read(fd, false);
		open_and_read(fd, true);
	}
	read_in_real_time(copy, size);
	close(fd);
	free(copy);
	return 0;
}
