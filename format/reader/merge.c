/* SPDX-License-Identifier: BSD-2-Clause */
/* Passes the events of all streams in order of time: a merge that opens each buffer only when its turn comes. */
#include "format/reader/merge.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/heap.h"
#include "format/event/events.h"
#include "format/reader/reader_internal.h"
#include "format/reader/spill.h"

/* Memory limit of the merge, as a multiple of the cache's limit: decoded events take more memory than their bytes. */
#define MEMORY_FACTOR 4
#define OPEN_BYTES 1024 /* least memory of a decoded buffer, in bytes */

/* Position of the merge in one stream. */
struct source {
	struct ptl_trace *trace;
	const struct format_reader_stream *stream;
	uint32_t id; /* of the stream */
	size_t input;
	uint64_t shift; /* added to the stream's times, modulo 2^64 */
	size_t at;      /* index of the open buffer, or of the next buffer if none is open */
	bool is_open;
	struct format_event_block block;
	struct ptl_bytes raw; /* payload that the block points into */
	size_t memory;        /* bytes of block and raw; kept for the next buffer */
	bool is_spilled;      /* the open buffer's events are in a file instead of memory */
	struct format_spilled spilled;
};

/* A node of the heap. */
struct node {
	uint64_t time; /* time of the source's next event, or a lower bound */
	struct source *source;
};

struct format_merge {
	const struct format_merge_input *inputs;
	size_t input_count;
	struct ptl_event_filter filter;
	int (*event)(void *context, const struct format_merge_place *place, const struct ptl_event *event);
	void *context;
	struct source *sources; /* one per event stream of all inputs */
	size_t source_count;
	uint64_t until;    /* the merge stops before the first event later than this */
	size_t limit;      /* memory limit in bytes */
	struct node *heap; /* the lowest (time, stream) is first */
	size_t count;
	size_t memory;
	struct source scratch; /* decodes buffers that are spilled at once */
	struct format_spill spill;
};

/* Orders nodes by time. At equal times, sources are ordered by input and stream id, as in their array. */
static inline bool before(const struct node *a, const struct node *b)
{
	return a->time < b->time || (a->time == b->time && a->source < b->source);
}

COMMON_HEAP(node, struct node, before)

static bool is_wanted(const struct format_merge *merge, const struct format_entry *entry)
{
	return entry->usable && entry->buffer.records && entry->buffer.last_time >= merge->filter.first_time &&
	       (!merge->filter.last_time || entry->buffer.first_time <= merge->filter.last_time);
}

/* Advances to the next buffer that may have wanted events; false at the end of the stream. */
static bool next_buffer(const struct format_merge *merge, struct source *source, uint64_t *time)
{
	for (; source->at < source->stream->count; source->at++) {
		const struct format_entry *entry = &source->trace->entries[source->stream->entries[source->at]];

		if (is_wanted(merge, entry)) {
			*time = entry->buffer.first_time + source->shift;
			return true;
		}
	}
	return false;
}

/* Frees the memory of a source. */
static void free_source(struct format_merge *merge, struct source *source)
{
	format_event_block_free(&source->block);
	common_bytes_free(&source->raw);
	format_spilled_free(&source->spilled);
	merge->memory -= source->memory;
	source->memory = 0;
	source->is_open = source->is_spilled = false;
}

/* Decodes a buffer. Events are read once, so the payload bypasses the cache and goes to reusable memory. */
static int decode_buffer(struct ptl_trace *trace, size_t entry, struct source *source)
{
	const struct ptl_buffer *buffer = &trace->entries[entry].buffer;
	uint8_t *data;
	int status;

	source->raw.size = 0;
	data = common_bytes_grow(&source->raw, buffer->raw_size);
	if (!data) {
		source->raw.failed = false;
		return common_fail_memory("events", buffer->raw_size);
	}
	status = ptl_buffer_read_into(trace, entry, data, buffer->raw_size);
	if (status)
		return status;
	status = format_event_block_decode(&source->block, data, buffer->raw_size, buffer->records, buffer->first_time,
					   buffer->last_time);
	if (status == PTL_CORRUPT)
		format_damage_buffer(trace, &trace->entries[entry], status);
	return status;
}

/* Reserves the memory that the buffer needs. False if the limit would be exceeded. */
static bool take_memory(struct format_merge *merge, struct source *source, const struct ptl_buffer *buffer)
{
	const size_t bound = common_memory_budget_share(
		merge->limit > SIZE_MAX / MEMORY_FACTOR ? SIZE_MAX : merge->limit * MEMORY_FACTOR);
	const size_t needed = OPEN_BYTES + 2 * (size_t)buffer->raw_size + (size_t)buffer->records * 32;
	const size_t others = merge->memory - source->memory;

	if (needed <= source->memory)
		return true;
	if (others > bound || needed > bound - others)
		return false;
	merge->memory = others + needed;
	source->memory = needed;
	return true;
}

/* Writes the events of a buffer to a file, as memory is short. */
static int spill_buffer(struct format_merge *merge, struct source *source, size_t entry)
{
	int status = decode_buffer(source->trace, entry, &merge->scratch);

	source->is_spilled = true;
	if (!status)
		status = format_spill(&merge->spill, &source->spilled, &merge->scratch.block,
				      source->trace->entries[entry].buffer.raw_size);
	return status;
}

/* Returns the time of the source's next event, which must exist. */
static int next_time(struct format_merge *merge, struct source *source, uint64_t *time)
{
	int status = 0;

	if (source->is_spilled)
		status = format_spilled_time(&merge->spill, &source->spilled, time);
	else
		*time = format_event_block_time(&source->block);
	*time += source->shift;
	return status;
}

static bool has_more(const struct source *source)
{
	return source->is_spilled ? format_spilled_more(&source->spilled) : source->block.next < source->block.count;
}

/* Opens the source's current buffer. Returns 1 if the buffer is damaged and was skipped. */
static int open_buffer(struct format_merge *merge, struct source *source)
{
	const size_t entry = source->stream->entries[source->at];
	int status;

	source->is_spilled = !take_memory(merge, source, &source->trace->entries[entry].buffer);
	status = source->is_spilled ? spill_buffer(merge, source, entry) : decode_buffer(source->trace, entry, source);
	if (format_is_damage(status)) {
		source->at++;
		return 1;
	}
	if (status)
		return status;
	source->is_open = true;
	return next_time(merge, source, &merge->heap[0].time);
}

/* Restores the heap after its top source has advanced; removes the source if it has ended. */
static void settle_heap(struct format_merge *merge, bool more)
{
	if (!more) {
		free_source(merge, merge->heap[0].source);
		merge->heap[0] = merge->heap[--merge->count];
	}
	node_sink(merge->heap, merge->count, 0);
}

static bool in_filter(const struct format_merge *merge, uint64_t time)
{
	return time >= merge->filter.first_time && (!merge->filter.last_time || time <= merge->filter.last_time);
}

/* Returns the second node in order, or NULL. */
static const struct node *second(const struct format_merge *merge)
{
	const struct node *left = &merge->heap[1];

	if (merge->count < 2)
		return NULL;
	return merge->count > 2 && before(left + 1, left) ? left + 1 : left;
}

/* Passes events of the top source as long as it precedes all other sources. */
static int give_top_events(struct format_merge *merge, struct ptl_event *event)
{
	struct node *top = &merge->heap[0];
	struct source *source = top->source;
	const struct node *other = second(merge);
	const struct format_merge_place place = {source->input, (size_t)(source->stream - source->trace->streams)};
	int status;

	do {
		if (source->is_spilled)
			format_spilled_next(&source->spilled, event);
		else
			format_event_block_next(&source->block, event);
		event->time += source->shift;
		status = merge->event && in_filter(merge, event->time) ? merge->event(merge->context, &place, event)
								       : 0;
		if (status)
			return status;
		if (!has_more(source)) {
			source->is_open = false;
			source->at++;
			settle_heap(merge, next_buffer(merge, source, &top->time));
			return 0;
		}
		status = next_time(merge, source, &top->time);
		if (status)
			return status;
	} while (top->time <= merge->until && (!other || before(top, other)));
	settle_heap(merge, true);
	return 0;
}

static int run_merge(struct format_merge *merge)
{
	struct ptl_event event = {0};
	int status = 0;

	while (!status && merge->count && merge->heap[0].time <= merge->until) {
		struct source *source = merge->heap[0].source;

		if (source->is_open) {
			status = give_top_events(merge, &event);
			continue;
		}
		status = open_buffer(merge, source);
		if (status == 1) {
			settle_heap(merge, next_buffer(merge, source, &merge->heap[0].time));
			status = 0;
		} else if (!status) {
			settle_heap(merge, true);
		}
	}
	return status;
}

/* Adds the event streams of an input. */
static void add_sources(struct format_merge *merge, size_t input)
{
	struct ptl_trace *trace = merge->inputs[input].trace;

	for (size_t i = 0; i < trace->stream_count; i++) {
		struct source *source = &merge->sources[merge->source_count];

		if (trace->streams[i].stream.kind != PTL_KIND_EVENTS)
			continue;
		merge->source_count++;
		source->trace = trace;
		source->stream = &trace->streams[i];
		source->id = source->stream->stream.id;
		source->input = input;
		source->shift = (uint64_t)merge->inputs[input].time_shift;
		if (!next_buffer(merge, source, &merge->heap[merge->count].time))
			continue;
		merge->heap[merge->count++].source = source;
	}
}

static int start_merge(struct format_merge *merge)
{
	size_t streams = 0;

	for (size_t i = 0; i < merge->input_count; i++)
		streams += merge->inputs[i].trace->stream_count;
	merge->sources = calloc(streams + 1, sizeof(*merge->sources));
	merge->heap = calloc(streams + 1, sizeof(*merge->heap));
	if (!merge->sources || !merge->heap)
		return common_fail_memory("merging", streams * sizeof(*merge->sources));
	for (size_t i = 0; i < merge->input_count; i++) {
		const size_t limit = merge->inputs[i].trace->memory_limit;

		add_sources(merge, i);
		merge->limit = limit > merge->limit ? limit : merge->limit;
	}
	node_order(merge->heap, merge->count);
	merge->spill.streams = merge->count;
	return 0;
}

static void stop_merge(struct format_merge *merge)
{
	for (size_t i = 0; i < merge->source_count; i++)
		free_source(merge, &merge->sources[i]);
	free_source(merge, &merge->scratch);
	format_spill_free(&merge->spill);
	free(merge->sources);
	free(merge->heap);
}

int format_merge_events(const struct format_merge_input *inputs, size_t count, const struct ptl_event_filter *filter,
			int (*event)(void *context, const struct format_merge_place *place,
				     const struct ptl_event *event),
			void *context)
{
	struct format_merge merge = {
		.inputs = inputs, .input_count = count, .event = event, .context = context, .until = UINT64_MAX};
	int status;

	if (filter)
		merge.filter = *filter;
	status = start_merge(&merge);
	if (!status)
		status = run_merge(&merge);
	stop_merge(&merge);
	return status;
}

/* ---- growing traces -------------------------------------------------------------------------- */

int format_merge_new(const struct format_merge_input *input, const struct ptl_event_filter *filter,
		     int (*event)(void *context, const struct format_merge_place *place, const struct ptl_event *event),
		     void *context, struct format_merge **merge)
{
	struct format_merge *made = calloc(1, sizeof(*made));
	int status;

	if (!made)
		return common_fail_memory("merging", sizeof(*made));
	*made = (struct format_merge){.inputs = input, .input_count = 1, .event = event, .context = context};
	if (filter)
		made->filter = *filter;
	status = start_merge(made);
	if (status)
		format_merge_free(made);
	else
		*merge = made;
	return status;
}

void format_merge_free(struct format_merge *merge)
{
	if (!merge)
		return;
	stop_merge(merge);
	free(merge);
}

/* Continues a stream at its old position: takes over the source with the same id. */
static void take_over(const struct format_merge *before, size_t *next, struct source *source)
{
	const struct format_reader_stream *stream = source->stream;

	/* Both arrays are sorted by id, and streams are only added. */
	if (*next == before->source_count || before->sources[*next].id != source->id)
		return;
	*source = before->sources[(*next)++];
	source->stream = stream;
}

static int requeue(struct format_merge *merge)
{
	int status = 0;

	merge->count = 0;
	for (size_t i = 0; !status && i < merge->source_count; i++) {
		struct source *source = &merge->sources[i];
		struct node *node = &merge->heap[merge->count];

		if (source->is_open)
			status = next_time(merge, source, &node->time);
		else if (!next_buffer(merge, source, &node->time))
			continue;
		node->source = source;
		merge->count++;
	}
	node_order(merge->heap, merge->count);
	return status;
}

int format_merge_resume(struct format_merge *merge)
{
	struct format_merge before = *merge;
	size_t next = 0;
	int status;

	merge->sources = NULL;
	merge->heap = NULL;
	merge->source_count = merge->count = 0;
	status = start_merge(merge);
	if (status) {
		free(merge->sources);
		free(merge->heap);
		*merge = before;
		return status;
	}
	for (size_t i = 0; i < merge->source_count; i++)
		take_over(&before, &next, &merge->sources[i]);
	free(before.sources);
	free(before.heap);
	return requeue(merge);
}

int format_merge_run(struct format_merge *merge, uint64_t until)
{
	merge->until = until;
	return run_merge(merge);
}
