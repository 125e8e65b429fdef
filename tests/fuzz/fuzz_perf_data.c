/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzes the reader of perf.data. The resulting trace must be undamaged. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ptl/reader.h>

#include "common/file.h"
#include "import/perf/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int ignore(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	(void)context;
	(void)trace;
	(void)event;
	return 0;
}

/* Checks the written trace and closes fd. */
static void check(int fd)
{
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = ignore};
	struct ptl_trace *trace;

	if (ptl_open_fd(fd, "trace", NULL, &trace))
		abort();
	if (ptl_process(trace, NULL, &callbacks, NULL) || ptl_damage_count(trace))
		abort();
	ptl_close(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct ptl_writer_options options = {.size = sizeof(options), .level = 1, .buffer_size = 4096};
	struct perf_outcome outcome;
	struct import_spool spool = {.fd = -1};
	int input = memfd_create("perf.data", MFD_CLOEXEC), output = memfd_create("ptl", MFD_CLOEXEC);

	/* The file continues itself, as a file of a series may. */
	const char *const names[] = {"perf.data", "perf.data"};
	const int fds[] = {input, input};
	const struct perf_input from = {.names = names, .fds = fds, .count = 2, .embed = ELF_EMBED_NONE};

	if (input < 0 || output < 0 || common_write_all(input, data, size) ||
	    ptl_writer_open(dup(output), &options, &spool.writer))
		abort();
	if (!perf_import(&from, &spool, &outcome)) {
		if (ptl_writer_close(spool.writer))
			abort();
		check(output);
	} else {
		ptl_writer_abandon(spool.writer);
		close(output);
	}
	close(input);
	free(spool.origins);
	return 0;
}
