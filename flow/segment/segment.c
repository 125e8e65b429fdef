/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists segments: selects streams, finds the owner of each stream, and cuts streams at PSBs. */
#include "flow/segment/segment_state.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/vector.h"
#include "flow/segment/turn.h"

/* Inputs of the segment list. */
struct segment_source {
	const struct flow_timeline *timeline;
	const struct flow_selection *selection;
	const struct flow_switch *switches;
	size_t switch_count;
	uint64_t entry; /* address of FLOW_TURN_FUNCTION in the kernel of the stream's machine; 0 unknown */
};

/* ---- streams ------------------------------------------------------------------------------------ */

/*
 * Finds the process and thread of a stream. A stream without a process, such as raw PT bytes, belongs to the only
 * process.
 */
static void find_owner(const struct flow_timeline *timeline, struct flow_segment_stream *owned)
{
	const struct ptl_stream *stream = owned->stream;

	owned->pid = stream->pid;
	owned->tid = stream->tid;
	owned->process = owned->thread = FLOW_NONE;
	if (owned->pid == PTL_NO_ID && flow_timeline_process_count(timeline) == 1)
		owned->pid = flow_timeline_process(timeline, 0)->pid;
	if (owned->pid == PTL_NO_ID)
		return;
	owned->process = flow_timeline_process_at(timeline, owned->pid, stream->first_time);
	if (owned->process == FLOW_NONE)
		return;
	if (owned->tid == PTL_NO_ID) {
		const struct flow_timeline_process *process = flow_timeline_process(timeline, owned->process);

		if (process->thread_count != 1)
			return;
		owned->thread = process->threads[0];
		owned->tid = flow_timeline_thread(timeline, owned->thread)->tid;
		return;
	}
	owned->thread = flow_timeline_thread_at(timeline, owned->pid, owned->tid, stream->first_time);
}

static void find_switches(const struct flow_timeline *timeline, struct flow_segment_stream *owned)
{
	const struct ptl_stream *stream = owned->stream;

	owned->switches = NULL;
	if (stream->pid == PTL_NO_ID && stream->tid == PTL_NO_ID && stream->cpu != PTL_NO_CPU)
		owned->switches = flow_timeline_switches(timeline, stream->cpu, &owned->switch_count);
}

static bool is_member(const uint32_t *ids, size_t count, uint32_t id)
{
	for (size_t i = 0; i < count; i++) {
		if (ids[i] == id)
			return true;
	}
	return !count;
}

static bool is_selected(const struct flow_selection *selection, uint32_t pid, uint32_t tid, uint32_t cpu)
{
	return is_member(selection->pids, selection->pid_count, pid) &&
	       is_member(selection->tids, selection->tid_count, tid) &&
	       is_member(selection->cpus, selection->cpu_count, cpu);
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_streams(const void *a_, const void *b_)
{
	const struct flow_segment_stream *a = a_, *b = b_;
	int order = compare_u64(a->process, b->process);

	if (!order)
		order = compare_u64(a->thread, b->thread);
	if (!order)
		order = compare_u64(a->stream->first_time, b->stream->first_time);
	return order ? order : compare_u64(a->stream->id, b->stream->id);
}

int flow_segment_streams(const struct ptl_trace *trace, const struct flow_timeline *timeline,
			 const struct flow_selection *selection, struct flow_segment_stream **selected, size_t *count)
{
	size_t all = ptl_stream_count(trace), kept = 0;
	struct flow_segment_stream *streams = calloc(all + 1, sizeof(*streams));

	if (!streams)
		return common_fail_memory("streams", all * sizeof(*streams));
	for (size_t i = 0; i < all; i++) {
		streams[kept].stream = ptl_stream_at(trace, i);
		if (streams[kept].stream->kind != PTL_KIND_PT || !streams[kept].stream->bytes)
			continue;
		find_owner(timeline, &streams[kept]);
		find_switches(timeline, &streams[kept]);
		/* Owners of the parts of a CPU's stream are found later. */
		if (streams[kept].switches ||
		    is_selected(selection, streams[kept].pid, streams[kept].tid, streams[kept].stream->cpu))
			kept++;
	}
	qsort(streams, kept, sizeof(*streams), compare_streams);
	*selected = streams;
	*count = kept;
	return 0;
}

/* ---- segments ----------------------------------------------------------------------------------- */

static int add_segment(struct flow_segment_list *list, size_t *capacity, const struct flow_segment *segment)
{
	if (COMMON_VECTOR_RESERVE(list->segments, *capacity, list->count + 1, "segments"))
		return PTL_NO_MEMORY;
	list->segments[list->count] = *segment;
	list->segments[list->count].index = list->count;
	list->bytes += segment->size - segment->skip;
	list->count++;
	return 0;
}

/* Checks whether the segment overlaps the time window. Segments without times may overlap. */
static bool in_window(const struct flow_selection *selection, const struct flow_segment *segment)
{
	if (selection->last_time && segment->time > selection->last_time)
		return false;
	return !segment->end_time || segment->end_time >= selection->first_time;
}

/*
 * Returns the time that selects the code of a PSB. If the PSB has no time, the stream's last known time serves. If the
 * stream has no times, the last version of the address space serves.
 */
static uint64_t time_of_code(const struct ptl_stream *stream, uint64_t time, uint64_t known)
{
	if (time || known)
		return time ? time : known;
	return stream->last_time ? 0 : FLOW_TIME_END;
}

/* ---- streams of CPUs -------------------------------------------------------------------------- */

/*
 * Sets the segment's owner to the thread of this switch. A thread that is not recorded belongs to process 0. If the
 * thread before the first switch is unknown, the stream's owner stays.
 */
static void find_switched(const struct flow_timeline *timeline, const struct flow_switch *to, uint64_t time,
			  struct flow_segment *segment)
{
	const bool none = to->pid == PTL_NO_ID;

	if (none && !to->time)
		return;
	segment->pid = none ? 0 : to->pid;
	segment->tid = none ? 0 : to->tid;
	segment->process = flow_timeline_process_at(timeline, segment->pid, time);
	segment->thread = flow_timeline_thread_at(timeline, segment->pid, segment->tid, time);
	segment->switched = true;
}

/* All parts of one segment except the last. */
struct flow_segment_parts {
	struct flow_segment_parts *next;
	struct flow_segment_part parts[];
};

/* Adds room for `count` parts to the list. Returns NULL without memory. */
static struct flow_segment_part *make_parts(struct flow_segment_list *list, size_t count)
{
	struct flow_segment_parts *made = malloc(sizeof(*made) + count * sizeof(made->parts[0]));

	if (!made)
		return NULL;
	made->next = list->parts;
	list->parts = made;
	return made->parts;
}

/* Frees the parts that were made last. No segment in the list uses the parts. */
static void drop_parts(struct flow_segment_list *list)
{
	struct flow_segment_parts *dropped = list->parts;

	list->parts = dropped->next;
	free(dropped);
}

/* Adds the turns of each selected thread. *found: the segment has turns, and is not to be cut. */
static int add_turns(struct ptl_trace *trace, const struct segment_source *source, const struct flow_segment *whole,
		     struct flow_segment_list *list, size_t *capacity, bool *found)
{
	struct flow_segment placed = *whole, *segments;
	struct flow_turns *turns;
	int status;

	*found = false;
	placed.time = whole->order_time;
	if (!source->entry)
		return 0;
	status = flow_segment_turns_find(trace, source->timeline, &placed, source->switches, source->switch_count,
					 source->entry, &turns);
	if (status < 0 || !turns)
		return status;
	turns->next = list->turns;
	list->turns = turns;
	*found = true;
	segments = calloc(turns->groups, sizeof(*segments));
	if (!segments)
		return common_fail_memory("turns", turns->groups * sizeof(*segments));
	flow_segment_turns_share(turns, whole, segments);
	for (uint32_t i = 0; !status && i < turns->groups; i++) {
		if (is_selected(source->selection, segments[i].pid, segments[i].tid, segments[i].cpu) &&
		    in_window(source->selection, &segments[i]))
			status = add_segment(list, capacity, &segments[i]);
	}
	free(segments);
	return status;
}

/* Cuts the segment at context switches, and adds the selected parts. */
static int add_pieces(struct ptl_trace *trace, const struct segment_source *source, const struct flow_segment *whole,
		      struct flow_segment_list *list, size_t *capacity)
{
	struct flow_segment_pieces found = {0};
	struct flow_segment placed = *whole;
	uint64_t known = whole->order_time;
	struct flow_segment_part *parts = NULL;
	bool wanted = false, found_turns;
	int status = add_turns(trace, source, whole, list, capacity, &found_turns);

	if (status < 0 || found_turns)
		return status;
	/* A segment without a time gets the last known time. */
	placed.time = whole->order_time;
	status = flow_segment_pieces_find(trace, &placed, source->switches, source->switch_count, &found);
	if (!status && found.count > 1) {
		parts = make_parts(list, found.count - 1);
		if (!parts)
			status = common_fail_memory("parts of a segment", found.count * sizeof(*parts));
	}
	for (size_t i = 0; !status && i < found.count; i++) {
		const struct flow_segment_piece *piece = &found.pieces[i];
		const bool last = i + 1 == found.count;
		struct flow_segment part = *whole;

		if (piece->time > known)
			known = piece->time;
		find_switched(source->timeline, &source->switches[piece->owner], known, &part);
		part.skip = piece->begin;
		part.unknown = piece->unknown;
		if (i > 0)
			part.time = part.order_time = part.code_time = known;
		if (!last) {
			part.size = found.pieces[i + 1].begin;
			part.end_time = found.pieces[i + 1].time;
			part.has_next = false;
			part.ends_disabled = piece->ends_disabled;
			parts[i] = (struct flow_segment_part){part.skip, part.code_time, part.process, part.unknown,
							      part.ends_disabled};
		}
		part.before = i ? parts : NULL;
		part.before_count = i;
		if (is_selected(source->selection, part.pid, part.tid, part.cpu) &&
		    in_window(source->selection, &part)) {
			wanted |= i > 0;
			status = add_segment(list, capacity, &part);
		}
	}
	if (parts && !wanted)
		drop_parts(list);
	flow_segment_pieces_free(&found);
	return status;
}

/* Orders by thread, then streams of the thread before streams of CPUs, then by time. */
static int compare_segments(const void *a_, const void *b_)
{
	const struct flow_segment *a = a_, *b = b_;
	const uint64_t keys[][2] = {
		{a->process, b->process},
		{a->pid, b->pid},
		{a->thread, b->thread},
		{a->tid, b->tid},
		{a->switched, b->switched},
		{a->switched ? a->order_time : a->index, b->switched ? b->order_time : b->index},
		{a->index, b->index},
	};
	int order = 0;

	for (size_t i = 0; !order && i < sizeof(keys) / sizeof(keys[0]); i++)
		order = compare_u64(keys[i][0], keys[i][1]);
	return order;
}

static bool is_same_group(const struct flow_segment *a, const struct flow_segment *b)
{
	if (a->switched != b->switched)
		return false;
	if (!a->switched)
		return a->group == b->group && a->pid == b->pid && a->tid == b->tid;
	return a->process == b->process && a->thread == b->thread && a->pid == b->pid && a->tid == b->tid;
}

void flow_segments_group_by_thread(struct flow_segment_list *list)
{
	size_t group = 0;

	qsort(list->segments, list->count, sizeof(*list->segments), compare_segments);
	for (size_t i = 0; i < list->count; i++) {
		struct flow_segment *segment = &list->segments[i];

		segment->first = !i || !is_same_group(segment, &segment[-1]);
		segment->last = i + 1 == list->count || !is_same_group(segment, &segment[1]);
	}
	for (size_t i = 0; i < list->count; i++) {
		list->segments[i].index = i;
		list->segments[i].group = group;
		group += list->segments[i].last;
	}
	list->groups = group;
}

/*
 * Returns the time at which the CPU's packets continue in another stream, as in the next file of a series. Threads that
 * run after that time are not looked for in this stream. 0: no other stream.
 */
static uint64_t time_of_successor(struct ptl_trace *trace, const struct ptl_stream *stream, uint64_t after)
{
	uint64_t found = 0;

	for (size_t i = 0; i < ptl_stream_count(trace); i++) {
		const struct ptl_stream *other = ptl_stream_at(trace, i);
		const struct ptl_psb *psbs;
		size_t count;

		if (other->kind != PTL_KIND_PT || other->cpu != stream->cpu || other->id == stream->id ||
		    other->last_time < after || ptl_psb_index(trace, other->id, &psbs, &count) < 0 || !count)
			continue;
		if (psbs[0].time >= after && (!found || psbs[0].time < found))
			found = psbs[0].time;
	}
	return found;
}

static int add_stream(struct ptl_trace *trace, const struct flow_segment_stream *owned,
		      const struct segment_source *source, struct flow_segment_list *list, size_t *capacity)
{
	const struct ptl_stream *stream = owned->stream;
	struct flow_segment segment = {
		.stream = stream->id,
		.cpu = stream->cpu,
		.pid = owned->pid,
		.tid = owned->tid,
		.process = owned->process,
		.thread = owned->thread,
		.group = list->groups,
	};
	const struct flow_selection *selection = source->selection;
	size_t count, first = list->count;
	uint64_t known = stream->first_time, from = 0, until = UINT64_MAX;
	const struct ptl_psb *psbs;
	int status = ptl_psb_index(trace, stream->id, &psbs, &count);

	/* While a trace is written, the index may have a PSB whose bytes are still missing. */
	while (!status && count && psbs[count - 1].offset >= stream->bytes)
		count--;
	if (selection->range)
		selection->range(selection->range_context, stream->id, &from, &until);
	/* A writer stores the time when it received a buffer's bytes. The time of a PSB in the buffer is earlier. */
	if (!status && count && psbs[0].time && psbs[0].time < known)
		known = psbs[0].time;
	/* Bytes before the first PSB make a segment that cannot be decoded. */
	for (size_t i = count && !psbs[0].offset ? 1 : 0; !status && i <= count; i++) {
		segment.has_psb = i > 0;
		segment.offset = i ? psbs[i - 1].offset : 0;
		segment.size = (i < count ? psbs[i].offset : stream->bytes) - segment.offset;
		segment.time = i ? psbs[i - 1].time : 0;
		segment.end_time = i < count ? psbs[i].time : 0;
		if (i == count && source->switches && segment.time)
			segment.end_time = time_of_successor(trace, stream, segment.time);
		segment.has_next = i < count;
		known = segment.time > known ? segment.time : known;
		segment.order_time = known;
		segment.code_time = time_of_code(stream, segment.time, known);
		if (segment.offset < from || segment.offset >= until)
			continue;
		if (source->switches && segment.has_psb && known)
			status = add_pieces(trace, source, &segment, list, capacity);
		else if (is_selected(source->selection, owned->pid, owned->tid, segment.cpu) &&
			 in_window(source->selection, &segment))
			status = add_segment(list, capacity, &segment);
	}
	if (status < 0)
		return common_fail_in(status, "stream %u", stream->id);
	if (list->count > first) {
		list->segments[first].first = true;
		list->segments[list->count - 1].last = true;
		list->groups++;
	}
	return 0;
}

int flow_segments_list(struct ptl_trace *trace, const struct flow_timeline *timeline,
		       const struct flow_selection *selection, struct flow_segment_list *list)
{
	struct flow_segment_stream *streams = NULL;
	size_t count = 0, capacity = 0;
	struct flow_turn_entries entries = {0};
	bool switched = false;
	int status;

	*list = (struct flow_segment_list){0};
	status = flow_segment_streams(trace, timeline, selection, &streams, &count);
	for (size_t i = 0; !status && i < count; i++) {
		struct segment_source source = {timeline, selection, streams[i].switches, streams[i].switch_count, 0};

		switched |= source.switches != NULL;
		if (source.switches)
			status = flow_turn_entry_find(trace, timeline, streams[i].stream->cpu, &entries, &source.entry);
		if (!status)
			status = add_stream(trace, &streams[i], &source, list, &capacity);
	}
	if (!status && switched)
		flow_segments_group_by_thread(list);
	free(streams);
	flow_turn_entries_close(&entries);
	if (status < 0)
		flow_segments_free(list);
	return status;
}

void flow_segments_free(struct flow_segment_list *list)
{
	while (list->parts) {
		struct flow_segment_parts *next = list->parts->next;

		free(list->parts);
		list->parts = next;
	}
	while (list->turns) {
		struct flow_turns *next = list->turns->next;

		free(list->turns);
		list->turns = next;
	}
	free(list->segments);
	*list = (struct flow_segment_list){0};
}
