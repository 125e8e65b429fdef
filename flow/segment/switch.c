/* SPDX-License-Identifier: BSD-2-Clause */
/* Places context switches between the packets of a segment, by time. */
#include "flow/segment/segment_state.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"
#include "flow/segment/clock.h"
#include "flow/segment/guest.h"
#include "flow/segment/packets.h"

/* A segment has a few KiB. Behind this limit switches are not placed, and packets are of an unknown thread. */
#define WALK_LIMIT ((size_t)4 << 20)

/*
 * A stretch without flow: packets are disabled or lost. A switch may lie in the pause if its time is from `from` to
 * `until`. The first pause ends where the segment's flow begins, and the last pause begins where the flow ends. Both
 * may be empty.
 */
struct pause {
	size_t cut; /* offset of the first packet after the pause: behind TIP.PGD, or at OVF */
	uint64_t from;
	uint64_t until;
	uint64_t time;     /* time at the cut */
	size_t events_end; /* end of the last event within the pause, such as CBR; 0: no event */
	uint64_t events_time;
	bool disabled; /* packets are disabled; false: an overflow, or the segment's end */
};

struct walk {
	struct flow_clock clock;
	uint64_t time;
	struct pause *pauses;
	size_t count, capacity;
	size_t timed; /* number of pauses whose `until` is known */
	bool paused;
	bool overflow;
	bool guest; /* packets are of a guest */
	bool asked; /* `host` is known */
	bool host;  /* packets of a host are in the segment: a guest's TSC has an offset */
};

static int add_pause(struct walk *walk, size_t cut, bool disabled)
{
	if (COMMON_VECTOR_RESERVE(walk->pauses, walk->capacity, walk->count + 1, "context switches"))
		return PTL_NO_MEMORY;
	walk->pauses[walk->count++] = (struct pause){
		.cut = cut, .from = walk->time, .time = walk->time, .disabled = disabled};
	walk->paused = true;
	return 0;
}

/* Sets `until` of all pauses that ended at or before time. */
static void end_pauses(struct walk *walk, uint64_t time)
{
	const size_t ended = walk->count - walk->paused;

	for (; walk->timed < ended; walk->timed++) {
		struct pause *pause = &walk->pauses[walk->timed];

		pause->until = time;
		if (walk->timed && pause->until < pause[-1].until)
			pause->until = pause[-1].until;
	}
}

static void take_time(struct walk *walk)
{
	const uint64_t time = flow_clock_time(&walk->clock);

	if (!time)
		return;
	/* The estimated time was too late. */
	for (size_t i = walk->count; i > 0 && walk->pauses[i - 1].from > time; i--)
		walk->pauses[i - 1].from = time;
	walk->time = time;
	end_pauses(walk, time);
}

/* Records an event of the CPU or of the previous thread. */
static void note_event(struct walk *walk, size_t end)
{
	struct pause *pause = walk->paused ? &walk->pauses[walk->count - 1] : NULL;

	if (!pause || !pause->disabled)
		return;
	pause->events_end = end;
	pause->events_time = walk->time;
}

static int take_packet(struct walk *walk, const struct ptl_pt_packet *packet, size_t begin)
{
	int status = 0;

	switch (packet->kind) {
	case PTL_PT_TSC:
	case PTL_PT_MTC:
	case PTL_PT_CYC:
		flow_clock_packet(&walk->clock, packet);
		take_time(walk);
		break;
	case PTL_PT_TMA:
		flow_clock_packet(&walk->clock, packet);
		break;
	case PTL_PT_CBR:
		flow_clock_packet(&walk->clock, packet);
		note_event(walk, begin + packet->size);
		break;
	case PTL_PT_PWRE:
	case PTL_PT_PWRX:
	case PTL_PT_TRACESTOP:
		note_event(walk, begin + packet->size);
		break;
	case PTL_PT_OVF:
		walk->overflow = true;
		if (!walk->paused)
			status = add_pause(walk, begin, false);
		break;
	case PTL_PT_TIP_PGD:
		if (!walk->paused)
			status = add_pause(walk, begin + packet->size, true);
		walk->overflow = false;
		break;
	case PTL_PT_TIP_PGE:
		walk->paused = walk->overflow = false;
		break;
	case PTL_PT_FUP:
	case PTL_PT_TIP:
		if (walk->overflow)
			walk->paused = walk->overflow = false;
		break;
	default:
		break;
	}
	return status;
}

/* Checks whether the bytes have a PIP with a clear NR bit. */
static bool has_host(const uint8_t *bytes, size_t size, const struct flow_errata *errata)
{
	struct ptl_pt_context context = {0};
	struct ptl_pt_packet packet;
	int length;

	for (size_t at = 0; (length = flow_errata_read(errata, bytes + at, size - at, &context, &packet)) > 0;
	     at += (size_t)length)
		if (packet.kind == PTL_PT_PIP && !packet.pip.non_root)
			return true;
	return false;
}

/* Finds all pauses. Damaged packets, or flow at the segment's end, add a last pause at the end. */
static int find_pauses(struct walk *walk, const uint8_t *bytes, size_t size, const struct flow_errata *errata,
		       uint64_t end_time)
{
	struct ptl_pt_context context = {0};
	struct ptl_pt_packet packet;
	struct flow_psb_plus psb_plus;
	size_t at = 0;
	int length, status;

	flow_psb_plus_read(bytes, size, errata, &psb_plus);
	status = add_pause(walk, 0, true);
	/* If the previous segment's flow continues, no switch comes before this segment's first flow. */
	if (psb_plus.has_ip || !psb_plus.complete) {
		walk->paused = false;
		end_pauses(walk, walk->time);
	}
	while (!status && (length = flow_errata_read(errata, bytes + at, size - at, &context, &packet)) > 0) {
		if (at < psb_plus.size && packet.kind == PTL_PT_FUP)
			packet.kind = PTL_PT_PAD;
		flow_guest_follow(&packet, bytes + at, size - at, errata, &walk->guest);
		if (walk->guest && !walk->asked) {
			walk->asked = true;
			walk->host = has_host(bytes, size, errata);
		}
		/* The clock goes on from the host's last TSC. */
		if (walk->guest && walk->host && (packet.kind == PTL_PT_TSC || packet.kind == PTL_PT_TMA))
			packet.kind = PTL_PT_PAD;
		status = take_packet(walk, &packet, at);
		at += (size_t)length;
	}
	if (status)
		return status;
	if (at < size || !walk->paused) {
		status = add_pause(walk, size, false);
		if (!status)
			walk->pauses[walk->count - 1].from = FLOW_TIME_END;
	}
	walk->paused = false;
	end_pauses(walk, end_time);
	return status;
}

const struct ptl_machine *flow_segment_machine(const struct ptl_trace *trace, const struct flow_segment *segment)
{
	const size_t number = segment->cpu / PTL_MACHINE_IDS;
	const struct ptl_machine *machine = number < ptl_machine_count(trace) ? ptl_machine_at(trace, number) : NULL;

	return machine ? machine : ptl_trace_machine(trace);
}

int flow_segment_bytes_read(struct ptl_trace *trace, const struct flow_segment *segment, uint8_t **bytes, size_t *size)
{
	const size_t want = segment->size < WALK_LIMIT ? (size_t)segment->size : WALK_LIMIT;
	int status = 0;

	*size = 0;
	*bytes = malloc(want + 1);
	if (!*bytes)
		return common_fail_memory("segment", want);
	while (*size < want) {
		uint64_t hole;
		size_t got;

		status = ptl_stream_read(trace, segment->stream, segment->offset + *size, *bytes + *size, want - *size,
					 &got, &hole);
		if (status < 0 || !got)
			break;
		*size += got;
	}
	return status < 0 ? status : 0;
}

/* Place of a switch. The search for the next switch begins at low and high. */
struct place {
	size_t low, high; /* first pause that ends, and last pause that begins, at the switch's time */
	size_t first, last;
};

/*
 * Finds the pauses first to last in which a switch may lie. If the switch lies in no pause, finds the pauses around the
 * switch.
 */
static void place_switch(const struct walk *walk, uint64_t time, struct place *place)
{
	while (place->low + 1 < walk->count && walk->pauses[place->low].until < time)
		place->low++;
	while (place->high + 1 < walk->count && walk->pauses[place->high + 1].from <= time)
		place->high++;
	place->first = place->low < place->high ? place->low : place->high;
	place->last = place->low < place->high ? place->high : place->low;
}

static int add_piece(struct flow_segment_pieces *list, size_t *capacity, const struct flow_segment_piece *piece)
{
	if (COMMON_VECTOR_RESERVE(list->pieces, *capacity, list->count + 1, "context switches"))
		return PTL_NO_MEMORY;
	list->pieces[list->count++] = *piece;
	return 0;
}

/*
 * Returns the offset at which the new thread's packets begin. Events before the switch belong to the previous thread.
 */
static size_t cut_of(const struct pause *pause, const struct flow_switch *to)
{
	return pause->events_end && to->time > pause->events_time ? pause->events_end : pause->cut;
}

static int make_pieces(const struct walk *walk, const struct flow_segment *segment, const struct flow_switch *switches,
		       size_t count, struct flow_segment_pieces *list)
{
	const size_t stretches = walk->count > 1 ? walk->count - 1 : 1;
	size_t owner = flow_switch_at(switches, count, segment->time), capacity = 0;
	struct place place = {0};
	uint64_t replayed = 0;
	bool placed = false;
	int status = 0;

	for (size_t i = 0; !status && i < stretches; i++) {
		const struct pause *pause = &walk->pauses[i];
		const struct flow_segment_piece *before = list->count ? &list->pieces[list->count - 1] : NULL;
		struct flow_segment_piece piece = {.begin = pause->cut, .time = pause->time};

		for (;; placed = false, owner++) {
			if (!placed && owner + 1 < count)
				place_switch(walk, switches[owner + 1].time, &place);
			placed = true;
			if (owner + 1 >= count || place.last > i)
				break;
		}
		piece.owner = owner;
		/* The new thread runs since the switch. The packets may show that time only later. */
		if (owner < count && switches[owner].time > piece.time && switches[owner].time <= pause->until)
			piece.time = switches[owner].time;
		piece.unknown = owner + 1 < count && place.first <= i;
		if (before && before->owner == piece.owner && before->unknown == piece.unknown)
			continue;
		/*
		 * Decoding begins where packets are enabled. Each piece reads the times before the piece again, so the
		 * number of pieces is limited.
		 */
		if (before && !piece.unknown && (!pause->disabled || replayed + pause->cut > 64 * segment->size)) {
			piece.unknown = true;
			if (before->unknown)
				continue;
		}
		if (before)
			list->pieces[list->count - 1].ends_disabled = pause->disabled;
		if (before && !piece.unknown && !before->unknown && pause->disabled)
			piece.begin = cut_of(pause, &switches[owner]);
		replayed += piece.unknown ? 0 : pause->cut;
		status = add_piece(list, &capacity, &piece);
	}
	return status;
}

int flow_segment_pieces_find(struct ptl_trace *trace, const struct flow_segment *segment,
			     const struct flow_switch *switches, size_t count, struct flow_segment_pieces *pieces)
{
	const uint64_t end_time = segment->end_time ? segment->end_time : FLOW_TIME_END;
	const size_t owner = flow_switch_at(switches, count, segment->time);
	const struct ptl_machine *machine = flow_segment_machine(trace, segment);
	const struct flow_errata errata = flow_errata_of(machine);
	struct flow_segment_piece whole = {.time = segment->time, .owner = owner};
	struct walk walk = {.time = segment->time};
	uint8_t *bytes = NULL;
	size_t size, capacity = 0;
	int status;

	*pieces = (struct flow_segment_pieces){0};
	if (owner + 1 >= count || switches[owner + 1].time > end_time)
		return add_piece(pieces, &capacity, &whole);
	/* Switches behind the segment are not searched for in the last stretch. */
	count = flow_switch_at(switches, count, end_time) + 1;
	flow_clock_start(&walk.clock, machine);
	status = flow_segment_bytes_read(trace, segment, &bytes, &size);
	if (!status)
		status = find_pauses(&walk, bytes, size, &errata, end_time);
	/* Bytes behind a hole or behind the limit count as part of the last stretch. */
	if (!status && size < segment->size) {
		walk.paused = false;
		status = add_pause(&walk, size, false);
		walk.pauses[walk.count - 1].from = walk.pauses[walk.count - 1].until = FLOW_TIME_END;
	}
	if (!status)
		status = make_pieces(&walk, segment, switches, count, pieces);
	free(bytes);
	free(walk.pauses);
	if (status < 0)
		flow_segment_pieces_free(pieces);
	return status;
}

void flow_segment_pieces_free(struct flow_segment_pieces *pieces)
{
	free(pieces->pieces);
	*pieces = (struct flow_segment_pieces){0};
}
