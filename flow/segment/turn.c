/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists the threads that take turns in a segment, from context switches and the times of packets. */
#include "flow/segment/turn.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/hash_map.h"
#include "flow/segment/clock.h"
#include "flow/segment/packets.h"
#include "flow/segment/segment_state.h"

/* Limits of decoding time: each group is decoded from the PSB on. */
#define GROUPS_MAX 128
#define TURNS_MAX 4096
/* nanoseconds; the kernel reports a switch before passing FLOW_TURN_FUNCTION, by less than this time */
#define SWITCH_TIME 1000000u

/*
 * Checks whether the next thread is known. A switch may have two events; the first event only says that the old thread
 * stops.
 */
static bool is_known_thread(const struct flow_switch *at)
{
	return at->pid != PTL_NO_ID || at->tid;
}

/*
 * Switches that may lie in the segment. `first`: the thread at the PSB. open: the kernel may have reported the next
 * switch just before the PSB, so the PSB may belong to the turn of `first` or to the next turn.
 */
struct range {
	size_t first, end;
	bool open;
};

static struct range find_range(const struct flow_segment *segment, const struct flow_switch *switches, size_t count,
			       bool in_kernel)
{
	const uint64_t end_time = segment->end_time ? segment->end_time : FLOW_TIME_END;
	struct range range = {.first = flow_switch_at(switches, count, segment->time)};

	range.end = flow_switch_at(switches, count, end_time) + 1;
	/* If the first event only stops the old thread, the switch has two events. */
	for (unsigned i = 0; in_kernel && i < 2 && range.first; i++) {
		const struct flow_switch *at = &switches[range.first];

		if (at->time > segment->time || segment->time - at->time > SWITCH_TIME ||
		    (range.open && is_known_thread(at)))
			break;
		range.open = true;
		range.first--;
	}
	return range;
}

/* Adds the turn that begins with switch *at. If the switch has two events, *at becomes the second event. */
static void add_turn(const struct flow_timeline *timeline, const struct flow_switch *switches, size_t count, size_t *at,
		     struct flow_turns *turns)
{
	const struct flow_switch *begins = &switches[*at], *to = begins;
	struct flow_turn *turn = &turns->list[turns->count++];

	if (!is_known_thread(begins) && *at + 1 < count && begins[1].time - begins->time <= SWITCH_TIME) {
		to = begins + 1;
		++*at;
	}
	*turn = (struct flow_turn){
		.time = begins->time, .pid = to->pid, .tid = to->tid, .process = FLOW_NONE, .thread = FLOW_NONE};
	if (to->pid == PTL_NO_ID)
		return;
	turn->process = flow_timeline_process_at(timeline, to->pid, to->time);
	turn->thread = flow_timeline_thread_at(timeline, to->pid, to->tid, to->time);
}

/*
 * Groups the turns. Turns of a thread are one group unless the thread ran on another CPU in between. Returns
 * PTL_NO_MEMORY.
 */
static int group(const struct flow_timeline *timeline, uint32_t cpu, struct flow_turns *turns)
{
	struct common_hash_map last = {0};
	int status = 0;

	for (size_t i = 0; !status && i < turns->count; i++) {
		struct flow_turn *turn = &turns->list[i];
		const uint64_t *known = common_hash_map_get(&last, turn->tid);
		const struct flow_turn *before = known ? &turns->list[*known] : NULL;

		if (before && before->pid == turn->pid &&
		    !flow_timeline_runs_elsewhere(timeline, cpu, turn->tid, before->time, turn->time))
			turn->group = before->group;
		else
			turn->group = turns->groups++;
		status = common_hash_map_put(&last, turn->tid, i);
	}
	common_hash_map_free(&last);
	return status;
}

/* Divides the bytes among turns, by time. Returns false if no packet is in the kernel. */
static bool place_turns(const struct flow_segment *segment, const uint8_t *bytes, size_t size,
			const struct ptl_machine *machine, struct flow_turns *turns)
{
	const struct flow_errata errata = flow_errata_of(machine);
	struct ptl_pt_context context = {0};
	struct ptl_pt_packet packet;
	struct flow_clock clock;
	uint64_t last_ip = 0, ip = 0, least = 1;
	size_t next = 1, at = 0;
	bool kernel = false;
	int length;

	flow_clock_start(&clock, machine);
	while (at < size && (length = flow_errata_read(&errata, bytes + at, size - at, &context, &packet)) > 0) {
		flow_clock_packet(&clock, &packet);
		for (; next < turns->count && turns->list[next].time <= flow_clock_time(&clock); next++)
			turns->list[next].skip = at;
		if (ptl_pt_ip_resolve(&packet, &last_ip, &ip) && packet.kind != PTL_PT_TIP_PGD)
			kernel |= flow_turn_is_kernel(ip);
		at += (size_t)length;
	}
	for (; next < turns->count; next++)
		turns->list[next].skip = segment->size;
	/* Each turn gets at least one byte. */
	for (size_t i = 1; i < turns->count; i++, least++) {
		const uint64_t most = segment->size - (turns->count - i);

		least = turns->list[i].skip > least ? turns->list[i].skip : least;
		turns->list[i].skip = least = least < most ? least : most;
	}
	return kernel;
}

/* Returns the period of timing packets. CYC packets come with every other packet, or after the threshold of cycles. */
static uint32_t period_of(const struct ptl_machine *machine)
{
	if (machine->timing == PTL_TIMING_CYC)
		return machine->cyc_threshold ? 1u << (machine->cyc_threshold & 15) : 0;
	return flow_clock_period(machine);
}

static int make_turns(struct ptl_trace *trace, const struct flow_timeline *timeline, const struct flow_segment *segment,
		      const struct flow_switch *switches, size_t count, const struct range *range, uint64_t entry,
		      struct flow_turns **made)
{
	const struct ptl_machine *machine = flow_segment_machine(trace, segment);
	struct flow_turns *turns = malloc(sizeof(*turns) + (range->end - range->first) * sizeof(turns->list[0]));
	uint8_t *bytes = NULL;
	size_t size = 0;
	int status;

	if (!turns)
		return common_fail_memory("turns", (range->end - range->first) * sizeof(turns->list[0]));
	*turns = (struct flow_turns){
		.entry = entry,
		.time = segment->time,
		.code_time = segment->code_time,
		.size = segment->size,
		.end_time = segment->end_time ? segment->end_time : FLOW_TIME_END,
		.period = period_of(machine),
		.has_next = segment->has_next,
	};
	for (size_t at = range->first; at < range->end; at++)
		add_turn(timeline, switches, count, &at, turns);
	turns->open = range->open && turns->count > 1 && turns->list[1].time <= segment->time;
	status = group(timeline, segment->cpu, turns);
	if (!status)
		status = flow_segment_bytes_read(trace, segment, &bytes, &size);
	if (!status && turns->count > 1 && turns->groups <= GROUPS_MAX && turns->count < segment->size &&
	    place_turns(segment, bytes, size, machine, turns)) {
		*made = turns;
		turns = NULL;
	}
	free(bytes);
	free(turns);
	return status;
}

int flow_segment_turns_find(struct ptl_trace *trace, const struct flow_timeline *timeline,
			    const struct flow_segment *segment, const struct flow_switch *switches, size_t count,
			    uint64_t entry, struct flow_turns **turns)
{
	const struct flow_errata errata = flow_errata_of(flow_segment_machine(trace, segment));
	struct flow_psb_plus psb_plus;
	uint8_t bytes[FLOW_PSB_PLUS_MAX];
	struct range range;
	uint64_t hole;
	size_t got;
	int status;

	*turns = NULL;
	if (!count)
		return 0;
	status = ptl_stream_read(trace, segment->stream, segment->offset, bytes,
				 segment->size < sizeof(bytes) ? (size_t)segment->size : sizeof(bytes), &got, &hole);
	if (status < 0)
		return status;
	flow_psb_plus_read(bytes, got, &errata, &psb_plus);
	range = find_range(segment, switches, count, psb_plus.has_ip && flow_turn_is_kernel(psb_plus.ip));
	if (range.end - range.first < 2 || range.end - range.first > TURNS_MAX)
		return 0;
	return make_turns(trace, timeline, segment, switches, count, &range, entry, turns);
}

void flow_segment_turns_share(const struct flow_turns *turns, const struct flow_segment *whole,
			      struct flow_segment *segments)
{
	uint32_t made = 0;

	for (size_t i = 0; i < turns->count; i++) {
		const struct flow_turn *turn = &turns->list[i];
		const uint64_t end = i + 1 < turns->count ? turn[1].skip : whole->size;
		struct flow_segment *segment = &segments[turn->group];

		if (turn->group == made) {
			*segment = *whole;
			made++;
			segment->turns = turns;
			segment->turn_group = turn->group;
			segment->skip = segment->size = turn->skip;
			segment->has_next = false;
			segment->switched = turn->pid != PTL_NO_ID;
			segment->unknown = !segment->switched;
			segment->pid = segment->switched ? turn->pid : whole->pid;
			segment->tid = segment->switched ? turn->tid : whole->tid;
			segment->process = segment->switched ? turn->process : whole->process;
			segment->thread = segment->switched ? turn->thread : whole->thread;
			if (i && turn->time > whole->order_time)
				segment->time = segment->order_time = segment->code_time = turn->time;
		}
		segment->size += end - turn->skip;
		segment->last_turn = (uint32_t)i;
		segment->end_time = i + 1 < turns->count ? turn[1].time : whole->end_time;
		if (i + 1 == turns->count)
			segment->has_next = whole->has_next;
	}
}
