/* SPDX-License-Identifier: BSD-2-Clause */
/* Follows the kernel's flow to find which thread has the CPU, and passes the flow of wanted threads to their sinks. */
#include "flow/engine/turn_flow.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/vector.h"
#include "flow/engine/batch_copy.h"
#include "flow/segment/turn.h"

/* status: all wanted flow has been given */
#define DONE 1
/* nanoseconds from the kernel's report of a switch to FLOW_TURN_FUNCTION, at most */
#define SWITCH_TIME 20000u

struct flow_turn_flow {
	/* source with an engine of its own, because the engine forgets the code of other processes */
	struct flow_source source;
	/* source for finding the first turn; its engine gives bounds of times, unlike some engines */
	struct flow_source finder;
	struct flow_batch_copy copy;
	const struct flow_turns *turns;
	const struct flow_turn_target *targets;    /* targets, which differ only in the wanted turns */
	const struct flow_turn_target **of_groups; /* by group: the target; NULL: the group is not wanted */
	size_t group_capacity;
	const struct flow_turn_target *target; /* target of the copy; NULL: the flow is not wanted */
	size_t last_turn;                      /* last wanted turn */
	size_t turn; /* turn of the current flow; if not known, the flow is of this turn or a later turn */
	bool known;
	bool looking;         /* this pass only finds the first turn */
	bool may_be[2];       /* whether the PSB may be in turn 0, and in turn 1, as far as the flow shows */
	size_t passages;      /* number of passages through FLOW_TURN_FUNCTION so far */
	bool lost;            /* flow is missing since the last passage: the gap may hide passages */
	bool stray;           /* a switch was not reported: the turn is unknown until the next reported switch */
	uint64_t early, late; /* bounds of the time of the current block or event */
	uint64_t last_time;
	uint64_t since[2]; /* the two times before last_time: a packet may send a branch later than its execution */
	int status;
};

/* Returns the target of the current flow; NULL: the flow is not wanted. */
static const struct flow_turn_target *target_of(const struct flow_turn_flow *flow)
{
	return flow->looking || !flow->known ? NULL : flow->of_groups[flow->turns->list[flow->turn].group];
}

/* Returns the last turn, from the current turn on, whose switch begins at or before time. */
static size_t turn_at(const struct flow_turn_flow *flow, uint64_t time)
{
	const struct flow_turns *turns = flow->turns;
	size_t turn = flow->turn;

	while (turn + 1 < turns->count && turns->list[turn + 1].time <= time)
		turn++;
	return turn;
}

static int give_batch(const struct flow_turn_target *target, const struct flow_batch *batch)
{
	return target->sink->take(target->sink->context, batch);
}

/* Gives the copied flow to its target, and begins a new copy for the rest of the batch. */
static int hand_on(struct flow_turn_flow *flow, const struct flow_batch *rest)
{
	const struct flow_batch *made = flow_batch_copy_end(&flow->copy);
	int status = 0;

	if (flow->target && (made->block_count || made->event_count))
		status = give_batch(flow->target, made);
	return status ? status : flow_batch_copy_begin(&flow->copy, rest);
}

/* Reports that the thread is unknown from here on: a gap in the flow of the previous thread. */
static int lose_turn(struct flow_turn_flow *flow, const struct flow_batch *batch, uint64_t time)
{
	const struct flow_turns *turns = flow->turns;
	const size_t next = flow->turn + 1 < turns->count ? flow->turn + 1 : flow->turn;
	const uint64_t end = next + 1 < turns->count ? turns->list[next + 1].skip : turns->size;
	const struct flow_event gap = {
		.kind = FLOW_GAP,
		.cause = FLOW_GAP_SWITCH,
		.time = time,
		.offset = flow->targets->segment->offset + turns->list[next].skip,
		.size = end - turns->list[next].skip,
	};
	const struct flow_batch of_gap = {.events = &gap, .event_count = 1};
	const struct flow_turn_target *target = target_of(flow);
	int status = 0;

	flow->known = false;
	if (!target)
		return 0;
	if (batch)
		status = hand_on(flow, batch);
	return status ? status : give_batch(target, &of_gap);
}

static void go_over(struct flow_turn_flow *flow, size_t turn)
{
	flow->turn = turn;
	flow->known = true;
	flow->lost = flow->stray = false;
}

static void take_late(struct flow_turn_flow *flow, uint64_t time)
{
	const uint32_t period = flow->turns->period;

	flow->late = period == FLOW_UNBOUNDED ? flow->turns->end_time : time + 2 * (uint64_t)period;
}

/* Computes the bounds of the time of the current block or event. */
static void take_time(struct flow_turn_flow *flow, const struct flow_batch_cursor *cursor)
{
	const struct flow_mark *mark = cursor->block ? flow_batch_mark(cursor) : NULL;
	const uint64_t time = cursor->time ? cursor->time : flow->last_time;

	if (time != flow->last_time) {
		flow->since[1] = flow->since[0];
		flow->since[0] = flow->last_time;
		flow->last_time = time;
	}
	flow->early = cursor->event || time < flow->since[1] ? time : flow->since[1];
	take_late(flow, time);
	if (mark && mark->before != FLOW_UNBOUNDED && mark->before < time)
		flow->early = time - mark->before;
	if (mark && mark->after != FLOW_UNBOUNDED)
		flow->late = time + mark->after;
}

/* Moves to the next turn: the flow enters FLOW_TURN_FUNCTION. */
static int pass_turn(struct flow_turn_flow *flow, const struct flow_batch *batch)
{
	const size_t first = turn_at(flow, flow->early), last = turn_at(flow, flow->late);

	flow->stray |= last == flow->turn;
	if (last == flow->turn)
		return lose_turn(flow, batch, flow->last_time);
	if (flow->known && !flow->lost)
		go_over(flow, first > flow->turn ? first : flow->turn + 1);
	else if (first == last || last == flow->turn + 1)
		go_over(flow, last);
	else
		return lose_turn(flow, batch, flow->last_time);
	return 0;
}

/* Finds the turn when no switch is in progress: the thread of the last switch runs. */
static int settle_turn(struct flow_turn_flow *flow, const struct flow_batch *batch)
{
	const size_t first = turn_at(flow, flow->early), last = turn_at(flow, flow->late);

	if ((first == last && (first > flow->turn || !flow->stray)) || (flow->known && !flow->lost)) {
		go_over(flow, first);
		return 0;
	}
	return lose_turn(flow, batch, flow->last_time);
}

/* Checks whether the turn of the PSB is found. */
static bool is_found(const struct flow_turn_flow *flow)
{
	return !flow->may_be[0] || !flow->may_be[1];
}

/*
 * Excludes impossible first turns. After `passages` passages, the current time must lie between the switch to the turn
 * and the following switch.
 */
static void rule_out(struct flow_turn_flow *flow)
{
	const struct flow_turns *turns = flow->turns;

	for (size_t i = 0; i < 2 && !is_found(flow); i++) {
		const size_t turn = i + flow->passages;

		if (turn >= turns->count || turns->list[turn].time > flow->late ||
		    (turn + 1 < turns->count && turns->list[turn + 1].time <= flow->early))
			flow->may_be[i] = false;
	}
}

static bool is_entry(const struct flow_turn_flow *flow, const struct flow_batch_cursor *cursor)
{
	return cursor->block && cursor->block->ip == flow->turns->entry;
}

/* Checks whether packets are enabled again, or flow continues outside of the kernel. */
static bool is_settled(const struct flow_batch_cursor *cursor)
{
	return cursor->block ? !flow_turn_is_kernel(cursor->block->ip) : cursor->event->kind == FLOW_ENABLED;
}

/* Checks whether a gap may hide passages. No passage is in a guest. */
static bool may_hide_passages(const struct flow_event *event)
{
	return event->kind == FLOW_GAP && !(event->cause == FLOW_GAP_GUEST && event->type);
}

static int look_for_turn(struct flow_turn_flow *flow, const struct flow_batch *batch)
{
	struct flow_batch_cursor cursor = flow_batch_walk(batch);

	while (!is_found(flow) && flow_batch_next(&cursor)) {
		take_time(flow, &cursor);
		if (cursor.event && may_hide_passages(cursor.event))
			return DONE;
		flow->passages += is_entry(flow, &cursor);
		if (is_entry(flow, &cursor) || is_settled(&cursor))
			rule_out(flow);
	}
	return is_found(flow) ? DONE : 0;
}

/* After missing flow, a switch that the gap may hide makes the turn unknown. */
static int follow_gap(struct flow_turn_flow *flow, const struct flow_batch_cursor *cursor)
{
	if (cursor->block && flow->lost && flow->known && turn_at(flow, flow->late) != flow->turn)
		return lose_turn(flow, cursor->batch, flow->last_time);
	return 0;
}

static int follow_cursor(struct flow_turn_flow *flow, const struct flow_batch_cursor *cursor)
{
	take_time(flow, cursor);
	if (is_entry(flow, cursor))
		return pass_turn(flow, cursor->batch);
	if (cursor->event && cursor->event->kind == FLOW_ENABLED)
		return settle_turn(flow, cursor->batch);
	return follow_gap(flow, cursor);
}

/* Updates the target: the current block or event may belong to another thread. */
static int change_target(struct flow_turn_flow *flow, const struct flow_batch *batch)
{
	const struct flow_turn_target *target = target_of(flow);
	const int status = target != flow->target ? hand_on(flow, batch) : 0;

	flow->target = target;
	return status;
}

static int take_batch(void *context, const struct flow_batch *batch)
{
	struct flow_turn_flow *flow = context;
	struct flow_batch_cursor cursor = flow_batch_walk(batch);
	int status;

	if (flow->looking)
		return look_for_turn(flow, batch);
	flow->target = target_of(flow);
	status = flow_batch_copy_begin(&flow->copy, batch);
	while (!status && flow->turn <= flow->last_turn && flow_batch_next(&cursor)) {
		status = follow_cursor(flow, &cursor);
		if (!status)
			status = change_target(flow, batch);
		if (status)
			return status;
		if (flow->target)
			flow_batch_copy_add(&flow->copy, &cursor);
		if (cursor.event && may_hide_passages(cursor.event))
			flow->lost = true;
	}
	if (!status)
		status = hand_on(flow, batch);
	return !status && flow->turn > flow->last_turn ? DONE : status;
}

/*
 * Callback of the engine, when flow continues outside of the kernel and the sink has all earlier flow. Returns the
 * process whose code is executed.
 */
static uint32_t enter_process(void *context, uint64_t time)
{
	struct flow_turn_flow *flow = context;

	flow->early = flow->last_time = time;
	take_late(flow, time);
	if (flow->looking)
		rule_out(flow);
	else if (!flow->status)
		flow->status = settle_turn(flow, NULL);
	return flow->turns->list[flow->turn].process;
}

/* ---- a segment --------------------------------------------------------------------------------- */

/* Decodes from the PSB on. The PSB is in the current turn, as far as known. */
static int decode_turns(struct flow_turn_flow *flow, struct flow_source *source)
{
	const struct flow_turns *turns = flow->turns;
	const struct flow_sink sink = {.take = take_batch, .context = flow};
	const struct flow_ends ends = {.process = enter_process, .context = flow};
	struct flow_segment whole = *flow->targets->segment;
	int status;

	whole.skip = 0;
	whole.size = turns->size;
	whole.end_time = turns->end_time;
	whole.has_next = turns->has_next;
	whole.process = turns->list[flow->turn].process;
	whole.time = turns->time;
	whole.code_time = turns->code_time;
	flow->last_time = flow->since[0] = flow->since[1] = turns->time;
	flow->lost = flow->stray = false;
	status = flow_produce_between(source, &whole, &sink, &ends);
	if (!status)
		status = flow->status;
	return status == DONE ? 0 : status;
}

/* Finds the turn of the PSB. */
static int find_first(struct flow_turn_flow *flow)
{
	int status;

	flow->turn = flow->passages = 0;
	flow->known = !flow->turns->open;
	if (flow->known)
		return 0;
	flow->looking = flow->may_be[0] = flow->may_be[1] = true;
	status = decode_turns(flow, &flow->finder);
	flow->looking = false;
	if (status)
		return status;
	if (!is_found(flow)) {
		flow->early = flow->last_time > SWITCH_TIME ? flow->last_time - SWITCH_TIME : 0;
		flow->late = FLOW_TIME_END;
		rule_out(flow);
	}
	flow->known = true;
	flow->turn = flow->may_be[1];
	if (flow->may_be[0] != flow->may_be[1])
		return 0;
	flow->turn = 0;
	return lose_turn(flow, NULL, flow->turns->time);
}

static int open_sources(struct flow_turn_flow *flow, struct flow_source *source)
{
	int status = 0;

	if (!flow->source.engine)
		status = flow_source_open(&flow->source, source->trace, source->code, source->class, source->finder);
	if (!status && !flow->finder.engine)
		status = flow_source_open(&flow->finder, source->trace, source->code, source->finder, source->finder);
	return status;
}

static int take_targets(struct flow_turn_flow *flow, const struct flow_turn_target *targets, size_t count)
{
	flow->turns = targets->segment->turns;
	flow->targets = targets;
	flow->target = NULL;
	flow->last_turn = 0;
	flow->status = 0;
	if (COMMON_VECTOR_RESERVE(flow->of_groups, flow->group_capacity, flow->turns->groups, "turns"))
		return PTL_NO_MEMORY;
	for (uint32_t i = 0; i < flow->turns->groups; i++)
		flow->of_groups[i] = NULL;
	for (size_t i = 0; i < count; i++) {
		const struct flow_segment *segment = targets[i].segment;

		flow->of_groups[segment->turn_group] = &targets[i];
		if (segment->last_turn > flow->last_turn)
			flow->last_turn = segment->last_turn;
	}
	return 0;
}

int flow_turns_produce(struct flow_source *source, const struct flow_turn_target *targets, size_t count)
{
	struct flow_turn_flow *flow = source->turns ? source->turns : calloc(1, sizeof(*flow));
	int status;

	if (!flow)
		return common_fail_memory("turns", sizeof(*flow));
	source->turns = flow;
	status = open_sources(flow, source);
	if (!status)
		status = take_targets(flow, targets, count);
	if (!status)
		status = find_first(flow);
	return status ? status : decode_turns(flow, &flow->source);
}

void flow_turns_close(struct flow_turn_flow *turns)
{
	if (!turns)
		return;
	flow_source_close_engines(&turns->source);
	flow_source_close_engines(&turns->finder);
	flow_batch_copy_free(&turns->copy);
	free(turns->of_groups);
	free(turns);
}
