/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads calls of functions in chunks, in the order of their ends. */
#include "bindings/python/loops.h"

#include <stdlib.h>

#include "bindings/python/queue.h"

#define CHUNK_CALLS 4096

struct chunk {
	struct python_call_row rows[CHUNK_CALLS];
	size_t count;
};

struct python_calls {
	struct ptl_trace *trace;
	struct ptl_flow_options options;
	struct ptl_analysis *analysis; /* names live as long as this */
	struct python_queue queue;
	struct chunk chunks[PYTHON_CHUNKS];
};

static int python_take_call(void *context, const struct ptl_call_thread *thread, const struct ptl_call *call)
{
	struct python_calls *calls = context;
	struct chunk *chunk = &calls->chunks[calls->queue.filled % PYTHON_CHUNKS];

	if (chunk->count == CHUNK_CALLS) {
		const int status = python_queue_hand_over(&calls->queue);

		if (status)
			return status;
		chunk = &calls->chunks[calls->queue.filled % PYTHON_CHUNKS];
		chunk->count = 0;
	}
	chunk->rows[chunk->count++] = (struct python_call_row){
		.name = (uintptr_t)call->name,
		.path = (uintptr_t)call->path,
		.address = call->address,
		.start = call->start,
		.duration = call->duration,
		.self_time = call->self_time,
		.instructions = call->instructions,
		.self_instructions = call->self_instructions,
		.calls = call->calls,
		.pid = thread->pid,
		.tid = thread->tid,
		.depth = call->depth,
		.stack = call->stack,
		.flags = call->flags,
	};
	return 0;
}

static void *read_calls_thread(void *context)
{
	const struct ptl_calls_callbacks callbacks = {.size = sizeof(callbacks), .leave = python_take_call};
	struct python_calls *calls = context;
	int status = ptl_analysis_open(calls->trace, NULL, &calls->analysis);

	if (!status)
		status = ptl_calls_run(calls->analysis, &calls->options, &callbacks, calls);
	if (!status && calls->chunks[calls->queue.filled % PYTHON_CHUNKS].count)
		status = python_queue_hand_over(&calls->queue);
	python_queue_end(&calls->queue, status);
	return NULL;
}

int python_calls_open(struct ptl_trace *trace, const struct ptl_flow_options *options, struct python_calls **calls)
{
	struct python_calls *new = calloc(1, sizeof(*new));
	int status;

	if (!new)
		return PTL_NO_MEMORY;
	new->trace = trace;
	new->options = *options;
	status = python_queue_start(&new->queue, read_calls_thread, new);
	if (status) {
		free(new);
		return status;
	}
	*calls = new;
	return 0;
}

int python_calls_next(struct python_calls *calls, const struct python_call_row **rows, size_t *count)
{
	unsigned number;
	const int status = python_queue_next(&calls->queue, &number);

	if (status <= 0)
		return status;
	*rows = calls->chunks[number].rows;
	*count = calls->chunks[number].count;
	return 1;
}

const char *python_calls_error(const struct python_calls *calls)
{
	return calls->queue.error;
}

void python_calls_close(struct python_calls *calls)
{
	if (!calls)
		return;
	python_queue_close(&calls->queue);
	ptl_analysis_close(calls->analysis);
	free(calls);
}
