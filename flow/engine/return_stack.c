/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes the parts of a segment before a given part, to find the calls that the CPU remembers. */
#include "flow/engine/return_stack.h"

#include <stdlib.h>

#include "common/error.h"
#include "flow/engine/segment_flow.h"

/* number of engines; an engine forgets all code at a change of process, so each of the last processes has an engine */
#define PROCESSES 4

struct process_source {
	struct flow_source source; /* without an engine: not used yet */
	uint32_t process;
	uint64_t used; /* number of the last use */
};

struct flow_cpu_return_stacks {
	/* Engines separate from the part's engine, which is busy. */
	struct process_source sources[PROCESSES];
	uint64_t now;
	/* `calls` are the calls before part number `next` of the segment at this place. */
	uint32_t stream;
	uint64_t offset;
	size_t next;
	struct flow_return_stack calls;
};

void flow_calls_close(struct flow_cpu_return_stacks *calls)
{
	for (size_t i = 0; calls && i < PROCESSES; i++)
		flow_source_close_engines(&calls->sources[i].source);
	free(calls);
}

/* Returns the source that last decoded the process; otherwise a free source, or the least recently used source. */
static int find_source(struct flow_cpu_return_stacks *calls, const struct flow_source *like, uint32_t process,
		       struct flow_source **source)
{
	struct process_source *found = &calls->sources[0];
	int status = 0;

	for (size_t i = 0; i < PROCESSES; i++) {
		struct process_source *each = &calls->sources[i];

		if (each->used < found->used)
			found = each;
		if (each->used && each->process == process) {
			found = each;
			break;
		}
	}
	if (!found->source.engine)
		status = flow_source_open(&found->source, like->trace, like->code, like->class, like->finder);
	found->process = process;
	found->used = ++calls->now;
	*source = &found->source;
	return status;
}

static int take_nothing(void *context, const struct flow_batch *batch)
{
	(void)context;
	(void)batch;
	return 0;
}

static int give_known(void *context, const struct flow_segment *segment, struct flow_return_stack *calls)
{
	(void)segment;
	*calls = *(const struct flow_return_stack *)context;
	return 0;
}

/* Decodes the next part. The part ends at the beginning of the following part, or of the wanted segment. */
static int pass_part(struct flow_cpu_return_stacks *calls, const struct flow_source *like,
		     const struct flow_segment *segment)
{
	const struct flow_segment_part *part = &segment->before[calls->next];
	const bool last = calls->next + 1 == segment->before_count;
	const struct flow_sink sink = {.take = take_nothing};
	struct flow_return_stack after = {.lost = true};
	const struct flow_ends ends = {.calls_before = give_known, .calls_after = &after, .context = &calls->calls};
	struct flow_segment whole = *segment;
	struct flow_source *source;
	int status = 0;

	whole.skip = part->skip;
	whole.size = last ? segment->skip : part[1].skip;
	whole.before_count = calls->next;
	whole.time = whole.code_time = part->code_time;
	whole.process = part->process;
	whole.has_next = false;
	whole.ends_disabled = part->ends_disabled;
	if (!part->unknown) {
		status = find_source(calls, like, part->process, &source);
		if (!status)
			status = flow_produce_between(source, &whole, &sink, &ends);
	}
	calls->calls = after;
	calls->next++;
	return status;
}

int flow_calls_before(void *context, const struct flow_segment *segment, struct flow_return_stack *found)
{
	struct flow_source *source = context;
	struct flow_cpu_return_stacks *calls = source->calls ? source->calls : calloc(1, sizeof(*calls));
	int status = 0;

	if (!calls)
		return common_fail_memory("calls of a CPU", sizeof(*calls));
	source->calls = calls;
	if (calls->stream != segment->stream || calls->offset != segment->offset ||
	    calls->next > segment->before_count || !calls->next) {
		calls->stream = segment->stream;
		calls->offset = segment->offset;
		calls->next = 0;
		calls->calls = (struct flow_return_stack){0};
	}
	while (!status && calls->next < segment->before_count)
		status = pass_part(calls, source, segment);
	if (status < 0)
		calls->next = 0;
	*found = calls->calls;
	return status;
}
