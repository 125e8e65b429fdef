/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzes the reader of files of EventHeader events. The resulting trace must be undamaged. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ptl/reader.h>

#include "common/file.h"
#include "relog/input_event_header.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int visit(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	(void)trace;
	*(uint64_t *)context += event->payload_size;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct ptl_writer_options options = {.size = sizeof(options), .level = 1, .buffer_size = 4096};
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = visit};
	const int input = memfd_create("dat", MFD_CLOEXEC), output = memfd_create("ptl", MFD_CLOEXEC);
	struct event_header_outcome outcome;
	struct ptl_writer *writer;
	struct ptl_trace *trace;
	uint64_t bytes = 0;

	if (input < 0 || output < 0 || common_write_all(input, data, size) ||
	    ptl_writer_open(dup(output), &options, &writer))
		abort();
	if (relog_event_header_import(input, writer, &outcome)) {
		ptl_writer_abandon(writer);
		close(output);
	} else {
		if (ptl_writer_close(writer) || ptl_open_fd(output, "trace", NULL, &trace))
			abort();
		if (ptl_process(trace, NULL, &callbacks, &bytes) || ptl_damage_count(trace))
			abort();
		ptl_close(trace);
	}
	close(input);
	return 0;
}
