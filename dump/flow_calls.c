/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes the parts of a segment before one of them, for the calls that they leave behind. */
#include "dump/flow_calls.h"

#include <stdlib.h>

#include "common/error.h"
#include "dump/flow_segment.h"

struct ptl_flow_calls {
	struct ptl_flow_source source; /* with an engine of its own: that of the part is at work */
	/* Of the segment at this place, `calls` are those before part number `next`. */
	uint32_t stream;
	uint64_t offset;
	size_t next;
	struct ptl_calls calls;
};

static int open_calls(const struct ptl_flow_source *source, struct ptl_flow_calls **calls)
{
	struct ptl_flow_calls *opened = calloc(1, sizeof(*opened));
	int status;

	if (!opened)
		return ptl_fail_memory("calls of a CPU", sizeof(*opened));
	status = ptl_flow_source_open(&opened->source, source->trace, source->code, source->class);
	if (status < 0) {
		free(opened);
		return status;
	}
	*calls = opened;
	return 0;
}

void ptl_flow_calls_close(struct ptl_flow_calls *calls)
{
	if (!calls)
		return;
	ptl_flow_source_close(&calls->source);
	free(calls);
}

static int take_nothing(void *context, const struct ptl_batch *batch)
{
	(void)context;
	(void)batch;
	return 0;
}

static int give_known(void *context, const struct ptl_segment *segment, struct ptl_calls *calls)
{
	(void)segment;
	*calls = *(const struct ptl_calls *)context;
	return 0;
}

/* Goes on by a part, which ends where the next one, or the segment that was asked for, begins. */
static int pass_part(struct ptl_flow_calls *calls, const struct ptl_segment *segment)
{
	const struct ptl_segment_part *part = &segment->before[calls->next];
	const bool last = calls->next + 1 == segment->before_count;
	const struct ptl_flow_sink sink = {take_nothing, NULL};
	struct ptl_calls after = {.lost = true};
	const struct ptl_flow_ends ends = {give_known, &calls->calls, &after};
	struct ptl_segment whole = *segment;
	int status = 0;

	whole.skip = part->skip;
	whole.size = last ? segment->skip : part[1].skip;
	whole.before_count = calls->next;
	whole.time = whole.code_time = part->code_time;
	whole.process = part->process;
	whole.has_next = false;
	whole.ends_disabled = part->ends_disabled;
	if (!part->unknown)
		status = ptl_flow_produce_between(&calls->source, &whole, &sink, &ends);
	calls->calls = after;
	calls->next++;
	return status;
}

int ptl_flow_calls_before(void *context, const struct ptl_segment *segment, struct ptl_calls *found)
{
	struct ptl_flow_source *source = context;
	struct ptl_flow_calls *calls;
	int status = source->calls ? 0 : open_calls(source, &source->calls);

	if (status < 0)
		return status;
	calls = source->calls;
	if (calls->stream != segment->stream || calls->offset != segment->offset || calls->next > segment->before_count ||
	    !calls->next) {
		calls->stream = segment->stream;
		calls->offset = segment->offset;
		calls->next = 0;
		calls->calls = (struct ptl_calls){0};
	}
	while (!status && calls->next < segment->before_count)
		status = pass_part(calls, segment);
	if (status < 0)
		calls->next = 0;
	*found = calls->calls;
	return status;
}
