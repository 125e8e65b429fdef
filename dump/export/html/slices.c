/* SPDX-License-Identifier: BSD-2-Clause */
/* Collects calls as time slices, and keeps the longest if too many. */
#include "dump/export/html/slices.h"

#include <stdlib.h>
#include <string.h>

#include "common/vector.h"

/* ---- tracks -------------------------------------------------------------------------------------- */

void dump_slices_begin(struct dump_slices *slices)
{
	if (slices->stack_capacity)
		memset(slices->stacks, 0, slices->stack_capacity * sizeof(*slices->stacks));
	slices->first = slices->count;
	slices->gap_open = false;
}

static int find_track(struct dump_slices *slices, const struct analysis_call_thread *thread, uint32_t *number)
{
	const uint32_t stack = thread->stack->number;
	const size_t before = slices->stack_capacity;
	int status = COMMON_VECTOR_RESERVE(slices->stacks, slices->stack_capacity, (size_t)stack + 1, "stacks");

	if (status < 0)
		return status;
	if (slices->stack_capacity > before)
		memset(slices->stacks + before, 0, (slices->stack_capacity - before) * sizeof(*slices->stacks));
	if (!slices->stacks[stack]) {
		status = COMMON_VECTOR_RESERVE(slices->tracks, slices->track_capacity, slices->track_count + 1,
					       "stacks");
		if (status < 0)
			return status;
		slices->tracks[slices->track_count++] = (struct dump_slice_track){
			.process = thread->process,
			.thread = thread->thread,
			.pid = thread->pid,
			.tid = thread->tid,
			.cpu = thread->cpu,
			.stack = stack,
		};
		slices->stacks[stack] = (uint32_t)slices->track_count;
	}
	*number = slices->stacks[stack] - 1;
	return 0;
}

/* ---- limit of the number ------------------------------------------------------------------------- */

#define DIGIT 11 /* bits of a duration per pass */

/*
 * Finds the duration at position `rank` in sorted order. *equal: how many slices of this duration are at or after this
 * position. A radix selection from the highest digit, so the run time does not depend on the order.
 */
static uint64_t find_duration(const struct dump_slice *list, size_t count, size_t rank, size_t *equal)
{
	uint64_t prefix = 0, mask = 0, all = 0;
	int shift = 0;

	for (size_t i = 0; i < count; i++)
		all |= list[i].duration;
	while (shift + DIGIT < 64 && all >> (shift + DIGIT))
		shift += DIGIT;
	for (; shift >= 0; shift -= DIGIT) {
		size_t counts[1 << DIGIT] = {0};
		uint64_t digit = 0;

		for (size_t i = 0; i < count; i++)
			if ((list[i].duration & mask) == prefix)
				counts[list[i].duration >> shift & ((1 << DIGIT) - 1)]++;
		for (; rank >= counts[digit]; digit++)
			rank -= counts[digit];
		*equal = counts[digit] - rank;
		prefix |= digit << shift;
		mask |= (uint64_t)((1 << DIGIT) - 1) << shift;
	}
	return prefix;
}

/* Keeps the longest `limit` slices. Of slices equal to the shortest kept duration, the first are kept. */
static void keep_longest(struct dump_slices *slices)
{
	const size_t before = slices->first;
	size_t equal, kept = 0;
	const uint64_t least = find_duration(slices->list, slices->count, slices->count - slices->limit, &equal);

	for (size_t i = 0; i < slices->count; i++) {
		const struct dump_slice slice = slices->list[i];

		if (i == before)
			slices->first = kept;
		if (slice.duration > least || (slice.duration == least && equal && equal--))
			slices->list[kept++] = slice;
	}
	if (before >= slices->count)
		slices->first = kept;
	slices->cut += slices->count - kept;
	slices->count = kept;
	/* Later slices must be longer than the shortest kept slice. */
	slices->floor = least + 1;
}

/* Makes room for a slice. Slices are dropped only at one and a half times the limit, not for each call. */
static int make_slice_room(struct dump_slices *slices)
{
	if (slices->count >= slices->limit + slices->limit / 2 + 1000)
		keep_longest(slices);
	return COMMON_VECTOR_RESERVE(slices->list, slices->capacity, slices->count + 1, "calls");
}

/* ---- calls and gaps ------------------------------------------------------------------------------ */

/* Ends the last gap if the thread's clock has advanced. */
static void follow_gap(struct dump_slices *slices, const struct analysis_call_thread *thread)
{
	struct dump_slice_gap *gap;

	if (!slices->gap_open)
		return;
	gap = &slices->gaps[slices->gap_count - 1];
	if (thread->time == gap->time)
		return;
	gap->duration = thread->absence.gap - gap->before;
	slices->gap_open = false;
}

int dump_slices_leave(struct dump_slices *slices, const struct analysis_call_thread *thread,
		      const struct analysis_frame *frame)
{
	const uint64_t start = frame->start ? frame->start : thread->time;
	uint32_t track;
	int32_t level;
	int status;

	follow_gap(slices, thread);
	slices->calls++;
	if (!start) {
		slices->untimed++;
		return 0;
	}
	if (frame->wall < slices->floor) {
		slices->cut++;
		return 0;
	}
	status = find_track(slices, thread, &track);
	if (status == 0)
		status = make_slice_room(slices);
	if (status < 0)
		return status;
	level = (int32_t)((int64_t)analysis_frame_depth(thread, frame) - slices->tracks[track].below);
	slices->list[slices->count++] = (struct dump_slice){
		.start = start,
		.duration = frame->wall,
		.instructions = frame->instructions,
		/* The last frame found below the first frames is the outermost one. */
		.order = level < 0 ? -(int64_t)frame->serial : (int64_t)frame->serial,
		.function = frame->function,
		.track = track,
		.level = level,
		.flags = (uint16_t)(frame->flags & ANALYSIS_CALL_SHOWN),
	};
	return 0;
}

int dump_slices_below(struct dump_slices *slices, const struct analysis_call_thread *thread)
{
	uint32_t track;
	const int status = find_track(slices, thread, &track);

	if (status == 0)
		slices->tracks[track].below++;
	return status;
}

int dump_slices_gap(struct dump_slices *slices, const struct analysis_call_thread *thread)
{
	int status;

	follow_gap(slices, thread);
	slices->gap_open = false;
	if (slices->gap_count >= slices->gap_limit) {
		slices->cut_gaps++;
		return 0;
	}
	status = COMMON_VECTOR_RESERVE(slices->gaps, slices->gap_capacity, slices->gap_count + 1, "gaps");
	if (status < 0)
		return status;
	slices->gaps[slices->gap_count++] = (struct dump_slice_gap){
		.time = thread->time,
		.before = thread->absence.gap,
		.pid = thread->pid,
		.tid = thread->tid,
		.cpu = thread->cpu,
	};
	slices->gap_open = true;
	return 0;
}

void dump_slices_end(struct dump_slices *slices, const struct analysis_call_thread *thread)
{
	follow_gap(slices, thread);
	for (size_t i = slices->first; i < slices->count; i++)
		slices->list[i].level += slices->tracks[slices->list[i].track].below;
	slices->first = slices->count;
	for (size_t i = 0; i < slices->stack_capacity; i++)
		if (slices->stacks[i])
			slices->tracks[slices->stacks[i] - 1].below = 0;
	if (slices->count > slices->limit)
		keep_longest(slices);
}

/* ---- sorting ------------------------------------------------------------------------------------- */

static int compare_slices(const void *a_, const void *b_)
{
	const struct dump_slice *a = a_, *b = b_;

	if (a->track != b->track)
		return a->track < b->track ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

void dump_slices_sort(struct dump_slices *slices)
{
	if (slices->count)
		qsort(slices->list, slices->count, sizeof(*slices->list), compare_slices);
}

void dump_slices_limit(struct dump_slices *slices, size_t limit)
{
	slices->limit = limit;
	if (!limit) {
		slices->cut += slices->count;
		slices->count = 0;
	} else if (slices->count > limit) {
		keep_longest(slices);
	}
}

void dump_slices_free(struct dump_slices *slices)
{
	free(slices->list);
	free(slices->tracks);
	free(slices->gaps);
	free(slices->stacks);
}
