/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the relogger with a whole trace file: copied, rewritten event by event, recompressed, and merged with itself.
 * The output is always undamaged, and a second pass keeps the number of events.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ptl/reader.h>
#include <ptl/relogger.h>

#include "tests/fuzz/mend.h"

#define SIZE_LIMIT (1u << 18)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int keep(void *context, struct ptl_relogger *relogger, struct ptl_trace_event *event)
{
	++*(uint64_t *)context;
	return ptl_relogger_inject(relogger, event);
}

static int keep_end(void *context, struct ptl_relogger *relogger, struct ptl_relogger_input *input,
		    const struct ptl_stream *stream, struct ptl_stream_plan *plan)
{
	static struct ptl_stream_range range = {.end = UINT64_MAX};

	(void)context;
	(void)relogger;
	(void)input;
	range.first = stream->bytes / 2;
	plan->ranges = &range;
	plan->range_count = 1;
	return 0;
}

/* Runs the relogger over one input, `times` times. Returns the output, or -1 if the relogger refuses. */
static int run(int input, unsigned times, bool events, int level, uint64_t *count)
{
	const struct ptl_relogger_options options = {.size = sizeof(options), .hash = PTL_HASH_NONE};
	const struct ptl_relogger_callbacks callbacks = {
		.size = sizeof(callbacks), .event = events ? keep : NULL, .stream = level == 0 ? keep_end : NULL};
	const int output = memfd_create("output", MFD_CLOEXEC);
	struct ptl_relogger *relogger;
	int status;

	*count = 0;
	if (output < 0 || ptl_relogger_new(&options, &relogger))
		abort();
	status = ptl_relogger_callbacks(relogger, &callbacks, count);
	for (unsigned i = 0; !status && i < times; i++) {
		const int fd = dup(input);

		status = ptl_relogger_add_fd(relogger, fd, "input", false, NULL, NULL);
		if (status)
			close(fd);
	}
	if (!status)
		status = ptl_relogger_output_fd(relogger, dup(output));
	if (!status && level >= 0)
		status = ptl_relogger_recompress(relogger, level);
	if (!status)
		status = ptl_relogger_process(relogger);
	ptl_relogger_free(relogger);
	if (!status)
		return output;
	close(output);
	return -1;
}

static void check(int output, uint64_t events)
{
	struct ptl_trace *trace;
	uint64_t again;
	int second;

	if (ptl_open_fd(dup(output), "output", NULL, &trace) || !ptl_trace_complete(trace))
		abort();
	for (size_t i = 0; i < ptl_damage_count(trace); i++)
		if (ptl_damage_at(trace, i)->status != PTL_UNSUPPORTED)
			abort();
	ptl_close(trace);
	second = run(output, 1, true, -1, &again);
	if (second < 0 || again != events)
		abort();
	close(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *mended = malloc(size ? size : 1);
	const int input = memfd_create("input", MFD_CLOEXEC);
	uint64_t count;
	int output;

	if (size > SIZE_LIMIT || !mended || input < 0) {
		free(mended);
		if (input >= 0)
			close(input);
		return 0;
	}
	memcpy(mended, data, size);
	mend(mended, size);
	if (write(input, mended, size) != (ssize_t)size)
		abort();
	free(mended);
	output = run(input, 1, true, -1, &count);
	if (output >= 0) {
		check(output, count);
		close(output);
	}
	close(run(input, 1, false, -1, &count));
	close(run(input, 1, false, 0, &count));
	output = run(input, 2, true, 1, &count);
	if (output >= 0) {
		check(output, count);
		close(output);
	}
	close(input);
	return 0;
}
