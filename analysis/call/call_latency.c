/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures the calls of a function. */
#include "analysis/call/call_latency.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"

/* ---- histogram ----------------------------------------------------------------------------------- */

static size_t bucket_of(uint64_t value)
{
	unsigned power;

	if (value < 1u << ANALYSIS_SPREAD_BITS)
		return (size_t)value;
	power = 63 - (unsigned)__builtin_clzll(value);
	return ((size_t)(power - ANALYSIS_SPREAD_BITS + 1) << ANALYSIS_SPREAD_BITS) +
	       (size_t)(value >> (power - ANALYSIS_SPREAD_BITS) & ((1u << ANALYSIS_SPREAD_BITS) - 1));
}

/* Returns the largest value of a bucket. */
static uint64_t end_of(size_t bucket)
{
	const size_t group = bucket >> ANALYSIS_SPREAD_BITS;
	const uint64_t within = bucket & ((1u << ANALYSIS_SPREAD_BITS) - 1);
	const unsigned shift = group ? (unsigned)group - 1 : 0;

	return group ? (((1ull << ANALYSIS_SPREAD_BITS) + within) << shift) + ((1ull << shift) - 1) : within;
}

int analysis_spread_add(struct analysis_spread *spread, uint64_t value)
{
	if (!spread->buckets) {
		spread->buckets = calloc(ANALYSIS_SPREAD_BUCKETS, sizeof(*spread->buckets));
		if (!spread->buckets)
			return common_fail_memory("a histogram", ANALYSIS_SPREAD_BUCKETS * sizeof(*spread->buckets));
		spread->least = UINT64_MAX;
	}
	spread->buckets[bucket_of(value)]++;
	spread->count++;
	spread->sum += value;
	spread->least = value < spread->least ? value : spread->least;
	spread->most = value > spread->most ? value : spread->most;
	return 0;
}

void analysis_spread_free(struct analysis_spread *spread)
{
	free(spread->buckets);
}

uint64_t analysis_spread_percentile(const struct analysis_spread *spread, double share)
{
	const double wanted = share * (double)spread->count;
	uint64_t seen = 0;

	for (size_t i = 0; spread->buckets && i < ANALYSIS_SPREAD_BUCKETS; i++) {
		seen += spread->buckets[i];
		if (spread->buckets[i] && (double)seen >= wanted)
			return end_of(i) < spread->most ? end_of(i) : spread->most;
	}
	return spread->most;
}

uint64_t analysis_spread_between(const struct analysis_spread *spread, uint64_t first, uint64_t last)
{
	uint64_t count = 0;

	for (size_t i = bucket_of(first); spread->buckets && i <= bucket_of(last); i++)
		count += spread->buckets[i];
	return count;
}

/* ---- slowest calls ------------------------------------------------------------------------------- */

/* Orders calls by value. Of two equal calls, the earlier counts as slower. */
static bool is_faster(const struct analysis_latency_call *a, const struct analysis_latency_call *b)
{
	return a->value != b->value ? a->value < b->value : a->order > b->order;
}

static void swap(struct analysis_latency_call *a, struct analysis_latency_call *b)
{
	const struct analysis_latency_call kept = *a;

	*a = *b;
	*b = kept;
}

static void sift_down(struct analysis_latency *latency)
{
	struct analysis_latency_call *heap = latency->slowest;
	size_t at = 0;

	for (;;) {
		size_t least = at;

		for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < latency->slowest_count; child++)
			if (is_faster(&heap[child], &heap[least]))
				least = child;
		if (least == at)
			return;
		swap(&heap[at], &heap[least]);
		at = least;
	}
}

static int keep_call(struct analysis_latency *latency, const struct analysis_latency_call *call)
{
	struct analysis_latency_call *heap;
	size_t at = latency->slowest_count;
	int status;

	if (at == latency->slowest_max) {
		if (at && is_faster(&latency->slowest[0], call)) {
			latency->slowest[0] = *call;
			sift_down(latency);
		}
		return 0;
	}
	status = COMMON_VECTOR_RESERVE(latency->slowest, latency->slowest_capacity, at + 1, "calls");
	if (status < 0)
		return status;
	heap = latency->slowest;
	heap[latency->slowest_count++] = *call;
	for (; at && is_faster(&heap[at], &heap[(at - 1) / 2]); at = (at - 1) / 2)
		swap(&heap[at], &heap[(at - 1) / 2]);
	return 0;
}

/* ---- calls --------------------------------------------------------------------------------------- */

static int add_caller(struct analysis_latency *latency, uint32_t function, uint64_t value)
{
	const uint64_t *known = common_hash_map_get(&latency->by_caller, function);
	size_t at = known ? (size_t)*known : latency->caller_count;
	int status = 0;

	if (!known) {
		status = COMMON_VECTOR_RESERVE(latency->callers, latency->caller_capacity, at + 1, "callers");
		if (status == 0)
			status = common_hash_map_put(&latency->by_caller, function, at);
		if (status < 0)
			return status;
		latency->callers[latency->caller_count++] = (struct analysis_latency_caller){.function = function};
	}
	return analysis_spread_add(&latency->callers[at].spread, value);
}

static uint64_t take_from(uint64_t *left, uint64_t part)
{
	part = part < *left ? part : *left;
	*left -= part;
	return part;
}

struct analysis_latency_parts analysis_latency_parts_of(const struct analysis_frame *frame)
{
	struct analysis_latency_parts parts = {0};
	uint64_t left = frame->wall;

	parts.other = take_from(&left, frame->wall > frame->time ? frame->wall - frame->time : 0);
	parts.absence.gap = take_from(&left, frame->absence.gap);
	parts.absence.off = take_from(&left, frame->absence.off);
	parts.absence.kernel = take_from(&left, frame->absence.kernel);
	parts.running = left;
	return parts;
}

static void add_parts(struct analysis_latency_parts *sum, const struct analysis_latency_parts *parts)
{
	sum->running += parts->running;
	sum->other += parts->other;
	sum->absence.kernel += parts->absence.kernel;
	sum->absence.off += parts->absence.off;
	sum->absence.gap += parts->absence.gap;
}

/* ---- nested calls -------------------------------------------------------------------------------- */

/*
 * Allocates a number for a frame's sum of measured callees. Only the end of a call shows whether the call is measured:
 * a call unfinished at the end of the flow is not. So each frame keeps the sum of its measured callees, which counts if
 * the frame itself is not measured.
 */
static int new_within(struct analysis_latency *latency, uint64_t *number)
{
	int status;

	if (latency->within_free_count) {
		*number = latency->within_free[--latency->within_free_count];
		latency->within[*number - 1] = (struct analysis_latency_parts){0};
		return 0;
	}
	status = COMMON_VECTOR_RESERVE(latency->within, latency->within_capacity, latency->within_count + 1, "calls");
	if (status == 0)
		status = COMMON_VECTOR_RESERVE(latency->within_free, latency->within_free_capacity,
					       latency->within_count + 1, "calls");
	if (status < 0)
		return status;
	latency->within[latency->within_count++] = (struct analysis_latency_parts){0};
	*number = latency->within_count;
	return 0;
}

static void forget_within(struct analysis_latency *latency, struct analysis_frame *frame)
{
	if (frame->user)
		latency->within_free[latency->within_free_count++] = (uint32_t)frame->user;
	frame->user = 0;
}

static int count_within(struct analysis_latency *latency, const struct analysis_call_thread *thread,
			struct analysis_frame *frame, const struct analysis_latency_parts *parts)
{
	int status = 0;

	if (!analysis_frame_depth(thread, frame)) {
		add_parts(&latency->parts, parts);
		return 0;
	}
	if (!frame[-1].user)
		status = new_within(latency, &frame[-1].user);
	if (status == 0)
		add_parts(&latency->within[frame[-1].user - 1], parts);
	return status;
}

/* Ends a frame that is not measured: passes the sum of its measured callees to its caller. */
static int pass_on(struct analysis_latency *latency, const struct analysis_call_thread *thread,
		   struct analysis_frame *frame)
{
	struct analysis_latency_parts parts;

	if (!frame->user)
		return 0;
	parts = latency->within[frame->user - 1];
	forget_within(latency, frame);
	return count_within(latency, thread, frame, &parts);
}

static int latency_enter(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	(void)context;
	(void)thread;
	(void)frame;
	return 0;
}

static int latency_leave(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct analysis_latency *latency = context;
	const int target = analysis_matches(&latency->matches, frame->function);
	struct analysis_latency_call call;
	int status;

	if (target < 0)
		return target;
	if (!target)
		return pass_on(latency, thread, frame);
	if (frame->flags & (ANALYSIS_CALL_UNFINISHED | ANALYSIS_CALL_INFERRED)) {
		latency->unfinished++;
		return pass_on(latency, thread, frame);
	}
	if (!latency->by_instructions && !frame->start) {
		latency->untimed++;
		return pass_on(latency, thread, frame);
	}
	call = (struct analysis_latency_call){
		.value = latency->by_instructions ? frame->instructions : frame->wall,
		.start = frame->start,
		.wall = frame->wall,
		.instructions = frame->instructions,
		.order = latency->spread.count,
		.parts = analysis_latency_parts_of(frame),
		.process = thread->process,
		.pid = thread->pid,
		.tid = thread->tid,
		.caller = analysis_frame_depth(thread, frame) ? frame[-1].function : ANALYSIS_NO_FUNCTION,
	};
	forget_within(latency, frame);
	status = count_within(latency, thread, frame, &call.parts);
	if (status == 0)
		status = analysis_spread_add(&latency->spread, call.value);
	if (status == 0)
		status = add_caller(latency, call.caller, call.value);
	return status == 0 ? keep_call(latency, &call) : status;
}

const struct analysis_call_observer analysis_latency_observer = {
	.enter = latency_enter,
	.leave = latency_leave,
};

/* ---- sorting ------------------------------------------------------------------------------------- */

static int compare_calls(const void *a, const void *b)
{
	return is_faster(a, b) ? 1 : is_faster(b, a) ? -1 : 0;
}

static int compare_callers(const void *a_, const void *b_, void *context)
{
	const struct analysis_latency *latency = context;
	const struct analysis_function_table *functions = latency->matches.calls->functions;
	const struct analysis_latency_caller *a = a_, *b = b_;
	const struct analysis_function *left = analysis_function(functions, a->function);
	const struct analysis_function *right = analysis_function(functions, b->function);
	int order;

	if (a->spread.count != b->spread.count)
		return a->spread.count > b->spread.count ? -1 : 1;
	order = strcmp(left->name, right->name);
	if (!order)
		order = strcmp(left->path, right->path);
	return order ? order : (left->address > right->address) - (left->address < right->address);
}

void analysis_latency_finish(struct analysis_latency *latency)
{
	if (latency->slowest_count)
		qsort(latency->slowest, latency->slowest_count, sizeof(*latency->slowest), compare_calls);
	if (latency->caller_count)
		qsort_r(latency->callers, latency->caller_count, sizeof(*latency->callers), compare_callers, latency);
}

void analysis_latency_free(struct analysis_latency *latency)
{
	for (size_t i = 0; i < latency->caller_count; i++)
		analysis_spread_free(&latency->callers[i].spread);
	free(latency->callers);
	free(latency->slowest);
	free(latency->within);
	free(latency->within_free);
	analysis_spread_free(&latency->spread);
	common_hash_map_free(&latency->by_caller);
	analysis_matches_free(&latency->matches);
}
