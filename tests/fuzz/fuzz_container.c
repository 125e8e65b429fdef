/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A whole trace file: opened with and without its index, and as it comes through a pipe, then everything in it is read. Checksums
 * are made right first, so that the fuzzer gets behind them; files with wrong ones are what the
 * replay's damage is for.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ptl/reader.h>

#include "tests/fuzz/mend.h"

#define PIPE_SIZE 65536u /* takes this much without a reader */
#define SIZE_LIMIT (1u << 20)
#define READS_MAX 2000 /* of each stream: holes may make it much longer than the file */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int visit(void *context, const struct ptl_value *value)
{
	(void)value;
	return ++*(unsigned *)context > 10000 ? PTL_CANCELLED : 0;
}

static int take_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	const struct ptl_schema *schema = ptl_schema_find(trace, &event->descriptor);
	uint64_t *sum = context;
	unsigned fields = 0;

	*sum += event->time + event->flags;
	for (size_t i = 0; i < event->payload_size; i++)
		*sum += event->payload[i];
	for (size_t i = 0; i < event->extended_count; i++)
		if (event->extended[i].size)
			*sum += event->extended[i].data[event->extended[i].size - 1];
	if (schema)
		ptl_payload_decode(schema, event->payload, event->payload_size, visit, &fields, NULL);
	return 0;
}

static void read_stream(struct ptl_trace *trace, const struct ptl_stream *stream)
{
	uint8_t data[4096];
	const struct ptl_psb *psbs;
	uint64_t at = 0, hole;
	size_t got, count;

	for (unsigned reads = 0; reads < READS_MAX; reads++) {
		if (ptl_stream_read(trace, stream->id, at, data, sizeof(data), &got, &hole) || !(got + hole))
			break;
		at += got + hole;
	}
	ptl_psb_index(trace, stream->id, &psbs, &count);
}

static void read_everything(struct ptl_trace *trace)
{
	const struct ptl_callbacks callbacks = {.event = take_event};
	uint8_t *data;
	size_t size;
	uint64_t sum = 0;

	ptl_process(trace, NULL, &callbacks, &sum);
	for (size_t i = 0; i < ptl_stream_count(trace); i++)
		read_stream(trace, ptl_stream_at(trace, i));
	for (size_t i = 0; i < ptl_blob_count(trace); i++)
		if (ptl_blob_read(trace, ptl_blob_at(trace, i)->hash, SIZE_LIMIT, &data, &size) == 0)
			free(data);
	for (size_t i = 0; i < ptl_buffer_count(trace); i++)
		if (ptl_buffer_read(trace, i, &data, &size) == 0)
			free(data);
	/* What is out of bounds is said to be inside the file, at least. */
	for (size_t i = 0; i < ptl_damage_count(trace); i++)
		if (ptl_damage_at(trace, i)->offset > ptl_trace_size(trace))
			abort();
}

static void open_and_read(int fd, bool ignore_index)
{
	const struct ptl_open_options options = {.ignore_index = ignore_index, .memory_limit = 1 << 20};
	const int copy = dup(fd);
	struct ptl_trace *trace;

	if (ptl_open_fd(copy, "fuzz", &options, &trace)) {
		close(copy);
		return;
	}
	read_everything(trace);
	ptl_close(trace);
}

/* All of it is there, so that nothing is waited for. */
static void read_in_real_time(const uint8_t *data, size_t size)
{
	const struct ptl_realtime_options options = {.open = {.memory_limit = 1 << 20}};
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
