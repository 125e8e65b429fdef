/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzes the reader of .etl files. The resulting trace must be undamaged. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ptl/reader.h>

#include "common/file.h"
#include "import/etl/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int ignore_value(void *context, const struct ptl_value *value)
{
	(void)context;
	(void)value;
	return 0;
}

static int look(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	const struct ptl_schema *schema = ptl_schema_of(trace, event);

	(void)context;
	if (schema && ptl_payload_decode(schema, event->payload, event->payload_size, ignore_value, NULL, NULL) ==
			      PTL_UNSUPPORTED)
		abort();
	return 0;
}

/* Checks the written trace and closes fd. */
static void check(int fd)
{
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = look};
	struct ptl_trace *trace;

	if (ptl_open_fd(fd, "trace", NULL, &trace))
		abort();
	if (ptl_process(trace, NULL, &callbacks, NULL) || ptl_damage_count(trace))
		abort();
	ptl_close(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct ptl_writer_options writing = {.size = sizeof(writing), .level = 1, .buffer_size = 4096};
	const struct etl_options options = {0};
	struct etl_outcome outcome;
	struct ptl_writer *writer;
	int input = memfd_create("etl", MFD_CLOEXEC), output = memfd_create("ptl", MFD_CLOEXEC);

	if (input < 0 || output < 0 || common_write_all(input, data, size) ||
	    ptl_writer_open(dup(output), &writing, &writer))
		abort();
	if (!etl_import(input, &options, writer, &outcome)) {
		if (ptl_writer_close(writer))
			abort();
		check(output);
	} else {
		ptl_writer_abandon(writer);
		close(output);
	}
	close(input);
	return 0;
}
