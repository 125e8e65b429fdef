/* SPDX-License-Identifier: BSD-2-Clause */
/* Cuts the work on a trace into shards, and joins the segments of all shards into one list. */
#include <stdlib.h>

#include "common/error.h"
#include "common/hash_map.h"
#include "flow/segment/segment_state.h"

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* ---- cutting --------------------------------------------------------------------------------- */

/* Finds the range of the stream that may overlap the time window: from *first on, before *end. */
static int find_window(struct ptl_trace *trace, const struct ptl_stream *stream, const struct flow_selection *selection,
		       uint64_t *first, uint64_t *end)
{
	const struct ptl_psb *psbs;
	size_t count, at = 0;
	int status;

	*first = 0;
	*end = stream->bytes;
	if (!selection->first_time && !selection->last_time)
		return 0;
	status = ptl_psb_index(trace, stream->id, &psbs, &count);
	if (status < 0)
		return status;
	/* Packets before a PSB that is earlier than the window lie before the window. */
	while (at < count && psbs[at].time && psbs[at].time < selection->first_time)
		*first = psbs[at++].offset;
	for (at = count; at-- > 0 && selection->last_time && psbs[at].time > selection->last_time;)
		*end = psbs[at].offset;
	if (*end > stream->bytes)
		*end = stream->bytes;
	return 0;
}

static int compare_ranges(const void *a_, const void *b_)
{
	const struct flow_segment_range *a = a_, *b = b_;

	return compare_u64(a->stream, b->stream);
}

/* Returns bytes * number / count without an overflow of 64 bits. */
static uint64_t share_of(uint64_t bytes, uint32_t number, uint32_t count)
{
	return bytes / count * number + bytes % count * number / count;
}

/*
 * Converts a cut in the sum of all bytes to an offset in a stream. before: bytes of all earlier streams. The stream's
 * window begins at `window` and has size bytes. A cut outside the stream becomes 0 or UINT64_MAX, so that the shards
 * together have all bytes.
 */
static uint64_t place_cut(uint64_t cut, uint64_t before, uint64_t window, uint64_t size)
{
	if (cut <= before)
		return 0;
	return cut - before < size ? window + (cut - before) : UINT64_MAX;
}

/* Reduces the ranges, which hold the window of each stream in order, to the bytes between two cuts. */
static void cut_ranges(struct flow_segment_shard *shard, uint32_t number, uint32_t count)
{
	uint64_t bytes = 0, before = 0, from, until;

	for (size_t i = 0; i < shard->count; i++)
		bytes += shard->ranges[i].end - shard->ranges[i].first;
	from = share_of(bytes, number - 1, count);
	until = number == count ? UINT64_MAX : share_of(bytes, number, count);
	for (size_t i = 0; i < shard->count; i++) {
		struct flow_segment_range *range = &shard->ranges[i];
		const uint64_t window = range->first, size = range->end - range->first;

		range->first = place_cut(from, before, window, size);
		range->end = place_cut(until, before, window, size);
		before += size;
	}
}

int flow_segments_shard(struct ptl_trace *trace, const struct flow_timeline *timeline,
			const struct flow_selection *selection, uint32_t number, uint32_t count,
			struct flow_segment_shard *shard)
{
	struct flow_segment_stream *streams = NULL;
	int status;

	*shard = (struct flow_segment_shard){0};
	status = flow_segment_streams(trace, timeline, selection, &streams, &shard->count);
	if (status < 0)
		return status;
	shard->ranges = calloc(shard->count + 1, sizeof(*shard->ranges));
	if (!shard->ranges)
		status = common_fail_memory("streams", shard->count * sizeof(*shard->ranges));
	for (size_t i = 0; !status && i < shard->count; i++) {
		struct flow_segment_range *range = &shard->ranges[i];

		range->stream = streams[i].stream->id;
		status = find_window(trace, streams[i].stream, selection, &range->first, &range->end);
		if (range->end < range->first)
			range->end = range->first;
	}
	free(streams);
	if (status < 0) {
		flow_segments_shard_free(shard);
		return status;
	}
	cut_ranges(shard, number, count);
	qsort(shard->ranges, shard->count, sizeof(*shard->ranges), compare_ranges);
	return 0;
}

void flow_segments_shard_range(void *shard_, uint32_t stream, uint64_t *first, uint64_t *end)
{
	const struct flow_segment_shard *shard = shard_;
	const struct flow_segment_range key = {.stream = stream}, *found;

	found = shard->count ? bsearch(&key, shard->ranges, shard->count, sizeof(*shard->ranges), compare_ranges)
			     : NULL;
	*first = found ? found->first : 0;
	*end = found ? found->end : 0;
}

void flow_segments_shard_free(struct flow_segment_shard *shard)
{
	free(shard->ranges);
	*shard = (struct flow_segment_shard){0};
}

/* ---- joining --------------------------------------------------------------------------------- */

/* Orders by stream, whose place is in `index`, then by place in the stream. */
static int compare_places(const void *a_, const void *b_)
{
	const struct flow_segment *a = a_, *b = b_;
	int order = compare_u64(a->index, b->index);

	if (!order)
		order = compare_u64(a->offset, b->offset);
	return order ? order : compare_u64(a->skip, b->skip);
}

static int check_place(const struct flow_segment *segment, const struct ptl_stream *stream)
{
	if (segment->size > stream->bytes || segment->offset > stream->bytes - segment->size ||
	    segment->skip > segment->size)
		return common_fail(PTL_CORRUPT, "stream %u has no segment of %llu bytes at offset %llu", stream->id,
				   (unsigned long long)segment->size, (unsigned long long)segment->offset);
	return 0;
}

/* Stores the place of each segment's stream in the segment's index. */
static int place_segments(struct flow_segment_list *list, const struct flow_segment_stream *streams, size_t count)
{
	struct common_hash_map places = {0};
	int status = 0;

	for (size_t i = 0; !status && i < count; i++)
		status = common_hash_map_put(&places, streams[i].stream->id, i);
	for (size_t i = 0; !status && i < list->count; i++) {
		struct flow_segment *segment = &list->segments[i];
		const uint64_t *place = common_hash_map_get(&places, segment->stream);

		if (!place) {
			status = common_fail(PTL_CORRUPT, "stream %u is not one of those that were asked for",
					     segment->stream);
			break;
		}
		segment->index = *place;
		list->bytes += segment->size - segment->skip;
		status = check_place(segment, streams[*place].stream);
	}
	common_hash_map_free(&places);
	return status;
}

/* Numbers segments, and makes a group of each stream. */
static int group_by_stream(struct flow_segment_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct flow_segment *segment = &list->segments[i];
		const struct flow_segment *before = i ? segment - 1 : NULL;

		segment->first = !before || before->stream != segment->stream;
		segment->last = i + 1 == list->count || segment[1].stream != segment->stream;
		if (before && !segment->first && before->offset == segment->offset && before->skip == segment->skip)
			return common_fail(PTL_CORRUPT, "stream %u: what begins at offset %llu is there twice",
					   segment->stream, (unsigned long long)segment->offset);
		segment->group = list->groups;
		list->groups += segment->last;
	}
	for (size_t i = 0; i < list->count; i++)
		list->segments[i].index = i;
	return 0;
}

int flow_segments_join(const struct ptl_trace *trace, const struct flow_timeline *timeline,
		       const struct flow_selection *selection, struct flow_segment_list *list)
{
	struct flow_segment_stream *streams = NULL;
	size_t count = 0;
	bool switched = false;
	int status = flow_segment_streams(trace, timeline, selection, &streams, &count);

	if (!status)
		status = place_segments(list, streams, count);
	for (size_t i = 0; i < count; i++)
		switched |= streams[i].switches != NULL;
	free(streams);
	if (status < 0)
		return status;
	if (list->count)
		qsort(list->segments, list->count, sizeof(*list->segments), compare_places);
	status = group_by_stream(list);
	if (!status && switched)
		flow_segments_group_by_thread(list);
	return status;
}
