/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs two engines over every segment on all workers, and compares their flow. */
#include "analysis/verify/verify.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/thread_pool.h"
#include "common/vector.h"
#include "flow/code/instruction_encoding.h"
#include "flow/engine/produce.h"
#include "flow/view/engines.h"

/* Flow of one engine over a segment. List 0: blocks and events bound to addresses. List 1: unbound events. */
struct record {
	struct analysis_verify_item *items[2];
	size_t count[2];
	size_t capacity[2];
	/*
	 * Number of items up to and including the first gap that is no overflow. Later items may differ. SIZE_MAX: no
	 * gap.
	 */
	size_t comparable[2];
	/* Index of the first block with an instruction that libipt 2.0 misdecodes. SIZE_MAX: no such block. */
	size_t unknown;
	uint64_t missing_gaps, missing_bytes; /* gaps except overflows, and the bytes skipped at these gaps */
};

struct worker {
	struct flow_source sources[2];
	struct record records[2];
};

struct outcome {
	bool done;
	bool differs;
	bool gap;
	bool unknown;
	uint64_t missing_gaps, missing_bytes;
	uint64_t blocks, instructions, events;
	uint64_t packets_end;
	struct analysis_verify_side sides[2];
};

struct run {
	struct ptl_trace *trace;
	const struct flow_view_options *options;
	const struct flow_engine_class *const *engines;
	struct flow_code *code;
	struct flow_segment_list list;
	struct worker *workers;
	struct outcome **outcomes; /* indexed by segment; set between `verify_segment` and `finish_job` */
	struct analysis_verify *verify;
	uint64_t done;
};

static int add_item(struct record *record, unsigned list, const struct analysis_verify_item *item)
{
	if (COMMON_VECTOR_RESERVE(record->items[list], record->capacity[list], record->count[list] + 1,
				  "flow of a segment"))
		return PTL_NO_MEMORY;
	record->items[list][record->count[list]++] = *item;
	return 0;
}

/* Whether libipt 2.0 misdecodes the instruction: REX2, newer maps of EVEX and VEX, ERETU, ERETS. */
static bool is_unknown(const uint8_t *bytes, size_t size, unsigned mode)
{
	struct flow_encoding encoding;

	if (flow_encoding_read(bytes, size, mode, &encoding) < 0)
		return false;
	switch (encoding.kind) {
	case FLOW_ENCODING_REX2:
		return true;
	case FLOW_ENCODING_VEX:
	case FLOW_ENCODING_EVEX:
		return encoding.map > 3;
	default:
		return encoding.map == 1 && encoding.opcode == 0x01 && encoding.modrm == 0xca && encoding.prefix & 0x80;
	}
}

static bool has_unknown(const struct flow_block *block)
{
	static const uint8_t beginnings[] = {0x62, 0xc4, 0xca, 0xd5};
	const uint8_t *at = block->code;
	bool may = false;

	for (size_t i = 0; i < sizeof(beginnings); i++)
		may |= memchr(block->code, beginnings[i], block->size) != NULL;
	for (uint32_t i = 0; may && i < block->instructions; at += block->lengths[i++])
		if (is_unknown(at, block->lengths[i], block->mode))
			return true;
	return false;
}

static int add_verified_block(struct record *record, const struct flow_block *block)
{
	struct analysis_verify_item item = {
		.kind = block->branch,
		.mode = block->mode,
		.instructions = block->instructions,
		.ip = block->ip,
		.last_ip = block->last_ip,
		.code_size = block->lengths[block->instructions - 1],
	};

	memcpy(item.code, block->code + (block->last_ip - block->ip), item.code_size);
	if (record->unknown == SIZE_MAX && has_unknown(block))
		record->unknown = record->count[0];
	return add_item(record, 0, &item);
}

/*
 * Returns the cause of a gap in comparable form. libipt does not distinguish a misplaced packet from a mismatch of
 * packets and code.
 */
static uint8_t cause_of(const struct flow_event *gap)
{
	return gap->cause == FLOW_GAP_PACKET ? FLOW_GAP_MISMATCH : gap->cause;
}

static int add_event(struct record *record, const struct flow_event *event)
{
	struct analysis_verify_item item = {
		.is_event = true,
		.kind = event->kind,
		/* FLOW_EVENT_RESUMED is only a hint of the engine. */
		.flags = event->kind == FLOW_GAP ? cause_of(event) : event->flags & ~FLOW_EVENT_RESUMED,
		/* libipt 2.0 does not report the interrupt flag, and the end of a guest is not looked for. */
		.type = event->kind == FLOW_EXEC_MODE || event->kind == FLOW_GAP ? 0 : event->type,
		.ip = event->kind == FLOW_GAP ? 0 : event->from,
		.last_ip = event->kind == FLOW_GAP && event->cause != FLOW_GAP_OVERFLOW ? 0 : event->to,
		.value = event->kind == FLOW_GAP ? 0 : event->value,
	};
	int status;

	/* libipt skips events without a known place. */
	if (event->flags & FLOW_EVENT_UNPLACED)
		return 0;
	/* libipt 2.1 loses event trace data, and an execution mode at which packets stop (flow/libipt/newer.c). */
	if (event->kind == FLOW_EVENT_DATA || (event->kind == FLOW_EXEC_MODE && !(event->flags & FLOW_EVENT_HAS_TO)))
		return 0;
	status = add_item(record, flow_event_splits(event->kind) ? 0 : 1, &item);

	if (status || event->kind != FLOW_GAP || event->cause == FLOW_GAP_OVERFLOW)
		return status;
	record->missing_gaps++;
	record->missing_bytes += event->size;
	if (record->comparable[0] == SIZE_MAX)
		for (unsigned list = 0; list < 2; list++)
			record->comparable[list] = record->count[list];
	return status;
}

static int take_batch(void *context, const struct flow_batch *batch)
{
	struct flow_batch_cursor cursor = flow_batch_walk(batch);
	int status = 0;

	while (!status && flow_batch_next(&cursor))
		status = cursor.block ? add_verified_block(context, cursor.block) : add_event(context, cursor.event);
	return status;
}

static bool same(const struct analysis_verify_item *a, const struct analysis_verify_item *b)
{
	return a->is_event == b->is_event && a->kind == b->kind && a->mode == b->mode && a->flags == b->flags &&
	       a->instructions == b->instructions && a->ip == b->ip && a->last_ip == b->last_ip &&
	       a->value == b->value && a->type == b->type;
}

/* Whether item i follows an instruction that libipt does not know. */
static bool is_beyond(const struct record records[2], size_t i)
{
	return i >= records[0].unknown || i >= records[1].unknown;
}

/* Whether the flow continues after the block without a packet. */
static bool goes_on(const struct analysis_verify_item *block)
{
	return block->kind == FLOW_BRANCH_NONE || block->kind == FLOW_BRANCH_JUMP || block->kind == FLOW_BRANCH_CALL;
}

/*
 * At a mismatch of packets and code, one engine stops at the last block that packets prove, while the other walks on to
 * the next branch that needs a packet. Returns whether the items from `at` on differ only in such extra blocks before
 * the same gap.
 */
static bool only_walks_on(const struct record records[2], size_t at)
{
	for (unsigned side = 0; side < 2; side++) {
		const struct record *ends = &records[side], *walks = &records[!side];
		size_t i = at;

		if (ends->comparable[0] != at + 1 || walks->comparable[0] == SIZE_MAX)
			continue;
		while (i + 2 < walks->comparable[0] && !walks->items[0][i].is_event && goes_on(&walks->items[0][i]))
			i++;
		if (i + 2 == walks->comparable[0] && !walks->items[0][i].is_event &&
		    same(&walks->items[0][i + 1], &ends->items[0][at]))
			return true;
	}
	return false;
}

/* Returns the index of the first different item of the list; SIZE_MAX: no difference. */
static size_t first_difference(const struct record records[2], unsigned list)
{
	size_t counts[2], i = 0;

	for (unsigned side = 0; side < 2; side++) {
		counts[side] = records[side].count[list];
		if (records[side].comparable[list] < counts[side])
			counts[side] = records[side].comparable[list];
	}
	while (i < counts[0] && i < counts[1])
		if (list == 0 && is_beyond(records, i))
			return SIZE_MAX;
		else if (same(&records[0].items[list][i], &records[1].items[list][i]))
			i++;
		else
			return list == 0 && only_walks_on(records, i) ? SIZE_MAX : i;
	/* Unbound events may come before or after a gap. */
	if (list == 1 && (records[0].comparable[list] != SIZE_MAX || is_beyond(records, SIZE_MAX - 1)))
		return SIZE_MAX;
	return counts[0] == counts[1] || is_beyond(records, i) ? SIZE_MAX : i;
}

static void show_side(const struct record *record, unsigned list, size_t at, struct analysis_verify_side *side)
{
	size_t first = at > ANALYSIS_VERIFY_BEFORE ? at - ANALYSIS_VERIFY_BEFORE : 0;
	size_t end = at + ANALYSIS_VERIFY_AFTER;

	if (end > record->count[list])
		end = record->count[list];
	side->count = end - first;
	side->at = at - first;
	/* An empty list has no memory. */
	if (side->count)
		memcpy(side->items, record->items[list] + first, side->count * sizeof(side->items[0]));
}

static int decode_segment(struct run *run, struct worker *worker, const struct flow_segment *segment)
{
	for (unsigned i = 0; i < 2; i++) {
		struct flow_source *source = &worker->sources[i];
		const struct flow_sink sink = {.take = take_batch, .context = &worker->records[i]};
		int status = 0;

		worker->records[i].count[0] = worker->records[i].count[1] = 0;
		worker->records[i].comparable[0] = worker->records[i].comparable[1] = SIZE_MAX;
		worker->records[i].unknown = SIZE_MAX;
		worker->records[i].missing_gaps = worker->records[i].missing_bytes = 0;
		if (!source->engine)
			status = flow_source_open(source, run->trace, run->code, run->engines[i],
						  flow_engine_default());
		if (!status)
			status = flow_produce(source, segment, &sink);
		if (status < 0)
			return common_fail_in(status, "engine %s", run->engines[i]->name);
	}
	return 0;
}

/*
 * Finds the smallest part of the segment that shows a difference, by bisection. The cut part has no next segment, so
 * both engines end their flow at the end of the packets.
 */
static int find_packets(struct run *run, struct worker *worker, const struct flow_segment *segment, uint64_t *end)
{
	uint64_t low = segment->skip, high = segment->size;

	while (high - low > 1) {
		struct flow_segment part = *segment;
		int status;

		part.size = low + (high - low) / 2;
		part.has_next = part.ends_disabled = false;
		status = decode_segment(run, worker, &part);
		if (status < 0)
			return status;
		if (first_difference(worker->records, 0) == SIZE_MAX &&
		    first_difference(worker->records, 1) == SIZE_MAX)
			low = part.size;
		else
			high = part.size;
	}
	*end = segment->offset + high;
	return 0;
}

/* Counts missing flow by the better engine: bytes that it skipped are decoded by no engine. */
static void count_missing(const struct record records[2], struct outcome *outcome)
{
	const struct record *better = &records[records[1].missing_bytes < records[0].missing_bytes];

	outcome->missing_gaps = better->missing_gaps;
	outcome->missing_bytes = better->missing_bytes;
}

static void count_outcome(const struct record records[2], struct outcome *outcome)
{
	const struct record *record = &records[0];
	size_t end = record->comparable[0] < record->count[0] ? record->comparable[0] : record->count[0];

	outcome->unknown = is_beyond(records, SIZE_MAX - 1);
	outcome->gap = record->comparable[0] != SIZE_MAX && !is_beyond(records, end - 1);
	for (size_t i = 0; i < end && !is_beyond(records, i); i++) {
		outcome->blocks += !record->items[0][i].is_event;
		outcome->instructions += record->items[0][i].instructions;
		outcome->events += record->items[0][i].is_event;
	}
	outcome->events += record->count[1];
}

static int verify_segment(void *context, unsigned index, size_t job)
{
	struct run *run = context;
	struct worker *worker = &run->workers[index];
	const struct flow_segment *segment = &run->list.segments[job];
	struct outcome *outcome = calloc(1, sizeof(*outcome));
	int status;

	if (!outcome)
		return common_fail_memory("comparison", sizeof(*outcome));
	run->outcomes[job] = outcome;
	status = decode_segment(run, worker, segment);
	if (status < 0)
		return status;
	count_outcome(worker->records, outcome);
	count_missing(worker->records, outcome);
	for (unsigned list = 0; list < 2 && !outcome->differs; list++) {
		size_t at = first_difference(worker->records, list);

		if (at == SIZE_MAX)
			continue;
		outcome->differs = true;
		for (unsigned i = 0; i < 2; i++)
			show_side(&worker->records[i], list, at, &outcome->sides[i]);
		return find_packets(run, worker, segment, &outcome->packets_end);
	}
	return 0;
}

static int finish_job(void *context, size_t job)
{
	struct run *run = context;
	struct outcome *outcome = run->outcomes[job];
	struct analysis_verify *verify = run->verify;

	run->done += run->list.segments[job].size - run->list.segments[job].skip;
	if (run->options->progress)
		run->options->progress(run->options->progress_context, run->done, run->list.bytes);
	if (outcome->differs) {
		verify->differs = true;
		verify->segment = run->list.segments[job];
		verify->packets_end = outcome->packets_end;
		memcpy(verify->sides, outcome->sides, sizeof(verify->sides));
	} else {
		verify->segments++;
		verify->gaps += outcome->gap;
		verify->unknown += outcome->unknown;
		verify->pt_bytes += run->list.segments[job].size - run->list.segments[job].skip;
		verify->missing_gaps += outcome->missing_gaps;
		verify->missing_bytes += outcome->missing_bytes;
		verify->blocks += outcome->blocks;
		verify->instructions += outcome->instructions;
		verify->events += outcome->events;
	}
	run->outcomes[job] = NULL;
	free(outcome);
	/* Segments after the first difference are not needed. */
	return verify->differs ? common_fail(PTL_CANCELLED, "the engines differ") : 0;
}

static void clean_up(struct run *run, unsigned threads)
{
	for (size_t i = 0; run->outcomes && i < run->list.count; i++)
		free(run->outcomes[i]);
	free(run->outcomes);
	for (unsigned i = 0; run->workers && i < threads; i++)
		for (unsigned k = 0; k < 2; k++) {
			flow_source_close(&run->workers[i].sources[k]);
			free(run->workers[i].records[k].items[0]);
			free(run->workers[i].records[k].items[1]);
		}
	free(run->workers);
	flow_code_close(run->code);
	flow_segments_free(&run->list);
}

int analysis_verify_run(struct ptl_trace *trace, const struct flow_timeline *timeline,
			const struct flow_view_options *options, const struct flow_engine_class *const engines[2],
			struct analysis_verify *verify)
{
	struct run run = {.trace = trace, .options = options, .engines = engines, .verify = verify};
	unsigned threads = options->threads ? options->threads : common_cpu_count();
	int status = flow_segments_list(trace, timeline, &options->selection, &run.list);

	*verify = (struct analysis_verify){0};
	if (!status) {
		const struct common_pipeline pipeline = {
			.count = run.list.count,
			.threads = threads,
			.context = &run,
			.work = verify_segment,
			.finish = finish_job,
		};

		run.workers = calloc(threads, sizeof(*run.workers));
		run.outcomes = calloc(run.list.count + 1, sizeof(*run.outcomes));
		if (!run.workers || !run.outcomes)
			status = common_fail_memory("comparison", run.list.count * sizeof(*run.outcomes));
		if (!status)
			status = flow_code_open(trace, timeline, threads, NULL, &run.code);
		if (!status)
			status = common_pipeline_run(&pipeline);
	}
	clean_up(&run, threads);
	return status == PTL_CANCELLED && verify->differs ? 0 : status;
}
