/* SPDX-License-Identifier: BSD-2-Clause */
/* Partial results as records: a list of segments, then the workers' data, then the result of each segment. */
#include "flow/view/shard.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/vector.h"

/* ---- merging ------------------------------------------------------------------------------------- */

/* Finishes the group, and passes ownership of the result. */
static int finish_group(const struct flow_view *view, const struct flow_segment *last, void **merged)
{
	void *result = *merged;

	*merged = NULL;
	return view->finish(view->context, last, result);
}

int flow_merger_take(struct flow_merger *merger, const struct flow_segment *segment, void *partial, uint64_t horizon)
{
	const struct flow_view *view = merger->view;
	void **merged = merger->of_groups ? &merger->of_groups[segment->group] : &merger->merged;
	int status;

	if (view->emit)
		return view->emit(view->context, segment, partial, horizon);
	if (!*merged) {
		*merged = partial;
	} else {
		status = view->merge(view->context, *merged, partial);
		if (status < 0)
			return status;
	}
	return segment->last && !merger->of_groups ? finish_group(view, segment, merged) : 0;
}

int flow_merger_finish(struct flow_merger *merger, const struct flow_segment_list *list)
{
	int status = 0;

	for (size_t i = 0; !status && merger->of_groups && i < list->count; i++) {
		const struct flow_segment *segment = &list->segments[i];

		if (segment->last)
			status = finish_group(merger->view, segment, &merger->of_groups[segment->group]);
	}
	return status;
}

void flow_merger_free(struct flow_merger *merger)
{
	const struct flow_view *view = merger->view;

	if (merger->merged)
		view->drop(view->context, merger->merged);
	for (size_t i = 0; i < merger->group_count; i++)
		if (merger->of_groups[i])
			view->drop(view->context, merger->of_groups[i]);
	merger->merged = NULL;
	merger->group_count = 0;
}

/* ---- values -------------------------------------------------------------------------------------- */

uint64_t flow_shard_read_below(struct common_cursor *record, uint64_t limit)
{
	const uint64_t value = common_read_varint(record);

	if (value < limit)
		return value;
	record->failed = true;
	return 0;
}

int flow_shard_check_end(const struct common_cursor *record, const char *what)
{
	if (!record->failed && !common_cursor_left(record))
		return 0;
	return common_fail(PTL_CORRUPT, "%s: the record is not what a shard has", what);
}

/* Writes an index of the timeline, possibly FLOW_NONE. */
static void write_index(struct ptl_bytes *record, uint32_t index)
{
	common_write_varint(record, index == FLOW_NONE ? 0 : (uint64_t)index + 1);
}

static uint32_t read_index(struct common_cursor *record, size_t count)
{
	const uint64_t index = flow_shard_read_below(record, (uint64_t)count + 1);

	return index ? (uint32_t)(index - 1) : FLOW_NONE;
}

void flow_shard_write_event(struct ptl_bytes *record, const struct flow_event *event)
{
	const uint8_t bytes[] = {event->kind, event->cause, event->flags, event->type, event->item};
	const uint64_t values[] = {event->time, event->offset, event->from, event->to, event->value, event->size};

	common_write_bytes(record, bytes, sizeof(bytes));
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		common_write_varint(record, values[i]);
}

void flow_shard_read_event(struct common_cursor *record, struct flow_event *event)
{
	*event = (struct flow_event){.kind = common_read8(record)};
	event->cause = common_read8(record);
	event->flags = common_read8(record);
	event->type = common_read8(record);
	event->item = common_read8(record);
	event->time = common_read_varint(record);
	event->offset = common_read_varint(record);
	event->from = common_read_varint(record);
	event->to = common_read_varint(record);
	event->value = common_read_varint(record);
	event->size = common_read_varint(record);
	if (!event->kind || event->kind >= FLOW_COUNTED || event->cause >= FLOW_GAP_COUNT ||
	    (event->kind == FLOW_GAP) != (event->cause != FLOW_GAP_NONE))
		record->failed = true;
}

/* ---- segments ------------------------------------------------------------------------------------ */

#define HAS_PSB 0x01u
#define HAS_NEXT 0x02u
#define ENDS_DISABLED 0x04u
#define UNKNOWN 0x08u
#define SWITCHED 0x10u
#define SEGMENT_FLAGS 0x1fu

static void write_segment(struct ptl_bytes *record, const struct flow_segment *segment)
{
	const uint64_t values[] = {segment->stream,    segment->cpu,        segment->pid,     segment->tid,
				   segment->offset,    segment->size,       segment->skip,    segment->time,
				   segment->code_time, segment->order_time, segment->end_time};

	common_write_varint(record, (segment->has_psb ? HAS_PSB : 0) | (segment->has_next ? HAS_NEXT : 0) |
					    (segment->ends_disabled ? ENDS_DISABLED : 0) |
					    (segment->unknown ? UNKNOWN : 0) | (segment->switched ? SWITCHED : 0));
	write_index(record, segment->process);
	write_index(record, segment->thread);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		common_write_varint(record, values[i]);
}

static struct flow_segment read_segment(struct common_cursor *record, const struct flow_timeline *timeline)
{
	const unsigned flags = (unsigned)flow_shard_read_below(record, SEGMENT_FLAGS + 1);
	struct flow_segment segment = {
		.has_psb = flags & HAS_PSB,
		.has_next = flags & HAS_NEXT,
		.ends_disabled = flags & ENDS_DISABLED,
		.unknown = flags & UNKNOWN,
		.switched = flags & SWITCHED,
	};

	segment.process = read_index(record, flow_timeline_process_count(timeline));
	segment.thread = read_index(record, flow_timeline_thread_count(timeline));
	segment.stream = (uint32_t)flow_shard_read_below(record, 1ull << 32);
	segment.cpu = (uint32_t)flow_shard_read_below(record, 1ull << 32);
	segment.pid = (uint32_t)flow_shard_read_below(record, 1ull << 32);
	segment.tid = (uint32_t)flow_shard_read_below(record, 1ull << 32);
	segment.offset = common_read_varint(record);
	segment.size = common_read_varint(record);
	segment.skip = common_read_varint(record);
	segment.time = common_read_varint(record);
	segment.code_time = common_read_varint(record);
	segment.order_time = common_read_varint(record);
	segment.end_time = common_read_varint(record);
	return segment;
}

static int read_segments(struct common_cursor *record, const struct flow_timeline *timeline, size_t source,
			 struct flow_segment_list *list, size_t *capacity)
{
	const uint64_t count = common_read_varint(record);

	/* The record bounds the number of segments. */
	for (uint64_t i = 0; i < count && !record->failed; i++) {
		struct flow_segment segment = read_segment(record, timeline);

		segment.source = (uint32_t)source;
		if (COMMON_VECTOR_RESERVE(list->segments, *capacity, list->count + 1, "segments"))
			return PTL_NO_MEMORY;
		list->segments[list->count++] = segment;
	}
	return flow_shard_check_end(record, "list of segments");
}

/* ---- saving -------------------------------------------------------------------------------------- */

static int put_record(struct flow_shard_saver *saver)
{
	if (saver->record.failed)
		return common_fail_memory("partial results", saver->record.size);
	return saver->shard->put(saver->shard->context, &saver->record);
}

int flow_shard_save_begin(struct flow_shard_saver *saver, struct ptl_trace *trace, const struct flow_segment_list *list)
{
	int status = saver->shard->begin(saver->shard->context, trace, saver->view->codec->name);

	saver->record.size = 0;
	common_write_varint(&saver->record, list->count);
	for (size_t i = 0; i < list->count; i++)
		write_segment(&saver->record, &list->segments[i]);
	return status < 0 ? status : put_record(saver);
}

int flow_shard_save(struct flow_shard_saver *saver, const struct flow_segment *segment, const void *partial)
{
	const struct flow_view_codec *codec = saver->view->codec;
	int status;

	saver->record.size = 0;
	status = codec->save(saver->view->context, segment, partial, &saver->record);
	if (status < 0 || !codec->save_rest)
		return status < 0 ? status : put_record(saver);
	common_write_varint(&saver->waiting, saver->record.size);
	common_write_bytes(&saver->waiting, saver->record.data, saver->record.size);
	return saver->waiting.failed || saver->record.failed
		       ? common_fail_memory("partial results", saver->waiting.size)
		       : 0;
}

int flow_shard_save_end(struct flow_shard_saver *saver)
{
	const struct flow_view_codec *codec = saver->view->codec;
	struct common_cursor waiting = common_cursor(saver->waiting.data, saver->waiting.size);
	int status = 0;

	if (!codec->save_rest)
		return 0;
	saver->record.size = 0;
	status = codec->save_rest(saver->view->context, &saver->record);
	if (!status)
		status = put_record(saver);
	while (!status && common_cursor_left(&waiting)) {
		const size_t size = (size_t)common_read_varint(&waiting);

		saver->record.size = 0;
		common_write_bytes(&saver->record, common_read_bytes(&waiting, size), size);
		status = put_record(saver);
	}
	return status;
}

void flow_shard_saver_free(struct flow_shard_saver *saver)
{
	common_bytes_free(&saver->record);
	common_bytes_free(&saver->waiting);
}

/* ---- loading ------------------------------------------------------------------------------------- */

/* State of loading, for functions that get the next record of a source. */
struct loading {
	const struct flow_shard *shard;
	const struct flow_view *view;
	const struct flow_timeline *timeline;
	struct flow_segment_list list;
	size_t capacity, sources;
	struct ptl_bytes record;
};

static int get_record(struct loading *loading, size_t source, struct common_cursor *record)
{
	const int status = loading->shard->get(loading->shard->context, source, &loading->record);

	*record = common_cursor(loading->record.data, loading->record.size);
	return status;
}

static int load_lists(struct loading *loading)
{
	const struct flow_view_codec *codec = loading->view->codec;
	struct common_cursor record;
	int status = 0;

	for (size_t i = 0; !status && i < loading->sources; i++) {
		status = get_record(loading, i, &record);
		if (!status)
			status = read_segments(&record, loading->timeline, i, &loading->list, &loading->capacity);
		if (!status && codec->load_rest)
			status = get_record(loading, i, &record);
		if (!status && codec->load_rest)
			status = codec->load_rest(loading->view->context, i, loading->sources, &record);
		if (!status && codec->load_rest)
			status = flow_shard_check_end(&record, codec->name);
	}
	return status;
}

static int load_segment(struct loading *loading, const struct flow_segment *segment, struct flow_merger *merger)
{
	const struct flow_view *view = loading->view;
	struct common_cursor record;
	void *partial = NULL;
	int status = get_record(loading, segment->source, &record);

	if (!status)
		status = view->codec->load(view->context, segment, &record, &partial);
	if (!status)
		status = flow_shard_check_end(&record, view->codec->name);
	if (status < 0) {
		if (partial)
			view->drop(view->context, partial);
		return common_fail_in(status, "stream %u, offset %llu", segment->stream,
				      (unsigned long long)segment->offset);
	}
	return flow_merger_take(merger, segment, partial, 0);
}

int flow_shard_load(struct ptl_trace *trace, const struct flow_timeline *timeline,
		    const struct flow_view_options *options, const struct flow_view *view)
{
	struct loading loading = {.shard = options->shard, .view = view, .timeline = timeline};
	struct flow_merger merger = {view, NULL};
	uint64_t done = 0;
	int status = loading.shard->open(loading.shard->context, trace, view->codec->name, &loading.sources);

	if (!status)
		status = load_lists(&loading);
	if (!status)
		status = flow_segments_join(trace, timeline, &options->selection, &loading.list);
	for (size_t i = 0; !status && i < loading.list.count; i++) {
		const struct flow_segment *segment = &loading.list.segments[i];

		status = load_segment(&loading, segment, &merger);
		done += segment->size - segment->skip;
		if (!status && options->progress)
			options->progress(options->progress_context, done, loading.list.bytes);
	}
	flow_merger_free(&merger);
	flow_segments_free(&loading.list);
	common_bytes_free(&loading.record);
	return status;
}
