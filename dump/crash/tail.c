/* SPDX-License-Identifier: BSD-2-Clause */
/* The view that keeps the last blocks. */
#include "dump/crash/tail.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"

/* The last blocks of a segment: a ring once `count` is blocks_max. */
struct tail_part {
	struct dump_crash_block *blocks;
	size_t count, capacity;
	size_t first;                    /* index of the oldest block */
	struct dump_crash_block *newest; /* the last executed block, if kept; NULL */
	uint64_t begin;                  /* address of the first executed instruction; 0: none */
	uint64_t last;                   /* address of the last executed instruction */
	enum dump_crash_stop stop;
	uint64_t stop_at, time;
	bool gap; /* flow is missing behind the last block */
};

/* ---- segments ------------------------------------------------------------------------------------ */

static int tail_begin(void *context, const struct flow_segment *segment, void **partial)
{
	(void)context;
	(void)segment;
	*partial = calloc(1, sizeof(struct tail_part));
	return *partial ? 0 : common_fail_memory("blocks", sizeof(struct tail_part));
}

static void tail_drop(void *context, void *partial)
{
	struct tail_part *part = partial;

	(void)context;
	free(part->blocks);
	free(part);
}

static int tail_add(struct tail_part *part, size_t most, const struct dump_crash_block *block)
{
	int status;

	if (part->count == most) {
		part->newest = &part->blocks[part->first];
		part->first = (part->first + 1) % most;
	} else {
		status = COMMON_VECTOR_RESERVE(part->blocks, part->capacity, part->count + 1, "blocks");
		if (status < 0)
			return status;
		part->newest = &part->blocks[part->count++];
	}
	*part->newest = *block;
	return 0;
}

static int tail_block(const struct dump_crash_tails *tails, struct tail_part *part, const struct flow_block *block)
{
	const struct dump_crash_block own = {.begin = block->ip,
					     .last = block->last_ip,
					     .end = block->ip + block->size,
					     .image = block->image,
					     .branch = block->branch,
					     .after_gap = part->gap};

	if (part->newest)
		part->newest->next = block->ip;
	part->newest = NULL;
	part->begin = part->begin ? part->begin : block->ip;
	part->last = block->last_ip;
	part->stop = DUMP_CRASH_STOP_UNKNOWN;
	if (block->image != FLOW_NONE && tails->left_out[block->image])
		return 0;
	part->gap = false;
	return tail_add(part, tails->blocks_max, &own);
}

static void tail_event(struct tail_part *part, const struct flow_event *event)
{
	if (event->kind == FLOW_GAP) {
		part->gap = true;
		part->stop = DUMP_CRASH_STOP_GAP;
	} else if ((event->kind == FLOW_ASYNC_DISABLED || event->kind == FLOW_ASYNC_BRANCH) &&
		   event->flags & FLOW_EVENT_HAS_FROM) {
		part->stop = DUMP_CRASH_STOP_BEFORE;
		part->stop_at = event->from;
	} else if (event->kind == FLOW_DISABLED) {
		part->stop = DUMP_CRASH_STOP_CALL;
	}
}

static int tail_consume(void *context, void *partial, const struct flow_segment *segment,
			const struct flow_batch *batch)
{
	const struct dump_crash_tails *tails = context;
	struct tail_part *part = partial;
	struct flow_batch_cursor cursor = flow_batch_walk(batch);
	int status = 0;

	(void)segment;
	while (status == 0 && flow_batch_next(&cursor)) {
		const struct flow_block *block = cursor.block;

		if (!block) {
			tail_event(part, cursor.event);
			continue;
		}
		status = tail_block(tails, part, block);
		part->time = cursor.time ? cursor.time : part->time;
	}
	return status;
}

/* ---- threads ------------------------------------------------------------------------------------- */

struct dump_crash_tail *dump_crash_tail_find(const struct dump_crash_tails *tails, uint32_t pid, uint32_t tid)
{
	for (size_t i = 0; i < tails->count; i++)
		if (tails->list[i].pid == pid && tails->list[i].tid == tid)
			return &tails->list[i];
	return NULL;
}

static struct dump_crash_tail *tail_of(struct dump_crash_tails *tails, const struct flow_segment *segment)
{
	struct dump_crash_tail *tail = dump_crash_tail_find(tails, segment->pid, segment->tid);

	if (!tail) {
		if (!common_vector_room(&tails->list, tails->count, sizeof(*tails->list)))
			return NULL;
		tail = &tails->list[tails->count++];
		*tail = (struct dump_crash_tail){.pid = segment->pid, .tid = segment->tid};
	}
	/* A number may be used again: the last thread counts. */
	if (tail->thread != segment->thread)
		tail->count = 0;
	tail->process = segment->process;
	tail->thread = segment->thread;
	return tail;
}

/* Appends the part's blocks, and keeps the last ones. */
static int tail_join(struct dump_crash_tail *tail, const struct tail_part *part, size_t most)
{
	const size_t kept = tail->count + part->count > most ? most - part->count : tail->count;
	struct dump_crash_block *blocks;

	if (tail->count && part->begin && !tail->blocks[tail->count - 1].next)
		tail->blocks[tail->count - 1].next = part->begin;
	tail->last = part->last ? part->last : tail->last;
	if (!part->count) {
		tail->gap |= part->gap;
		return 0;
	}
	if (kept)
		memmove(tail->blocks, tail->blocks + (tail->count - kept), kept * sizeof(*blocks));
	tail->count = kept;
	blocks = realloc(tail->blocks, (kept + part->count) * sizeof(*blocks));
	if (!blocks)
		return common_fail_memory("blocks", kept + part->count);
	for (size_t i = 0; i < part->count; i++)
		blocks[kept + i] = part->blocks[(part->first + i) % part->count];
	blocks[kept].after_gap |= tail->gap;
	tail->gap = part->gap;
	tail->blocks = blocks;
	tail->count = kept + part->count;
	return 0;
}

static int tail_emit(void *context, const struct flow_segment *segment, void *partial, uint64_t horizon)
{
	struct dump_crash_tails *tails = context;
	struct tail_part *part = partial;
	struct dump_crash_tail *tail = tail_of(tails, segment);
	int status = tail ? tail_join(tail, part, tails->blocks_max) : common_fail_memory("threads", tails->count);

	(void)horizon;
	if (status == 0 && (part->begin || part->stop != DUMP_CRASH_STOP_UNKNOWN)) {
		tail->stop = part->stop;
		tail->stop_at = part->stop_at;
		tail->time = part->time ? part->time : tail->time;
	}
	tail_drop(NULL, part);
	return status;
}

struct tail_range {
	const struct ptl_trace *trace;
	uint64_t bytes;
};

/* Limits the segments to the end of a stream. */
static void tail_range(void *context, uint32_t stream, uint64_t *first, uint64_t *end)
{
	const struct tail_range *range = context;

	*first = 0;
	*end = UINT64_MAX;
	for (size_t i = 0; i < ptl_stream_count(range->trace); i++) {
		const struct ptl_stream *data = ptl_stream_at(range->trace, i);

		if (data->id == stream && data->bytes > range->bytes)
			*first = data->bytes - range->bytes;
	}
}

int dump_crash_tails_read(struct dump_crash_tails *tails, struct ptl_trace *trace, const struct flow_timeline *timeline,
			  const struct flow_view_options *options, uint64_t bytes)
{
	struct flow_view_options own = *options;
	struct tail_range range = {trace, bytes};
	const struct flow_view view = {
		.context = tails,
		.begin = tail_begin,
		.consume = tail_consume,
		.emit = tail_emit,
		.drop = tail_drop,
	};

	dump_crash_tails_free(tails);
	own.by_time = true;
	if (bytes) {
		own.selection.range = tail_range;
		own.selection.range_context = &range;
	}
	return flow_view_run(trace, timeline, &own, &view);
}

void dump_crash_tails_free(struct dump_crash_tails *tails)
{
	for (size_t i = 0; i < tails->count; i++)
		free(tails->list[i].blocks);
	free(tails->list);
	tails->list = NULL;
	tails->count = 0;
}
