/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the segments of a PT stream that a span of time needs. Reads only the index of PSBs, and one PSB+. */
#include "relog/cut/pt.h"

#include <ptl/pt.h>

#include "common/error.h"
#include "format/pt/psb_plus.h"

/* Slack in ns: the writer's last_time of a stream may be a little older than the stream's last packets. */
#define TIME_SLACK 1000000

/* Finds the end of the PSB+ at the offset. A decoder of the previous segment reads up to this end. */
static int find_end(struct ptl_trace *trace, const struct ptl_stream *stream, uint64_t offset, uint64_t *end)
{
	uint8_t bytes[FORMAT_PT_PSB_PLUS_MAX];
	struct format_pt_psb_plus psb_plus = {0};
	uint64_t hole;
	size_t got;
	const int status = ptl_stream_read(trace, stream->id, offset, bytes, sizeof(bytes), &got, &hole);

	if (status == 0)
		(void)format_pt_psb_plus_read(bytes, got, &psb_plus);
	*end = offset + (psb_plus.size ? psb_plus.size : PTL_PT_PSB_SIZE);
	return status;
}

/* A segment: number i begins at PSB i - 1; number 0 is the part before the first PSB. */
struct segment {
	uint64_t time;
	uint64_t end_time; /* 0: unknown */
};

static struct segment segment_at(const struct ptl_stream *stream, const struct ptl_psb *psbs, size_t count, size_t i)
{
	struct segment segment = {.time = i ? psbs[i - 1].time : 0};

	if (i < count)
		segment.end_time = psbs[i].time;
	else if (segment.time && stream->last_time >= segment.time)
		segment.end_time = stream->last_time + TIME_SLACK;
	return segment;
}

static bool is_needed(const struct segment *segment, uint64_t from, uint64_t to)
{
	if (segment->time > to)
		return false;
	return !segment->end_time || segment->end_time >= from;
}

/* Returns the last known time before segment i. A decoder assumes this time for a segment without a time. */
static uint64_t known_time(const struct ptl_stream *stream, const struct ptl_psb *psbs, size_t i)
{
	uint64_t known = stream->first_time;

	if (i && psbs[0].time && psbs[0].time < known)
		known = psbs[0].time;
	for (size_t k = 0; k < i; k++)
		if (psbs[k].time > known)
			known = psbs[k].time;
	return known;
}

static int describe_segments(struct ptl_trace *trace, const struct ptl_stream *stream, const struct ptl_psb *psbs,
			     size_t count, size_t first, size_t last, struct relog_cut_range *range)
{
	const struct segment begin = segment_at(stream, psbs, count, first);
	const struct segment end = segment_at(stream, psbs, count, last);
	int status = 0;

	range->any = true;
	range->all = first == (count && !psbs[0].offset ? 1 : 0) && last == count;
	range->first = first ? psbs[first - 1].offset : 0;
	range->first_time = begin.time ? begin.time : known_time(stream, psbs, first);
	range->last_time = end.end_time ? end.end_time : UINT64_MAX;
	range->end = UINT64_MAX;
	if (last < count)
		status = find_end(trace, stream, psbs[last].offset, &range->end);
	return status;
}

int relog_cut_pt_range(struct ptl_trace *trace, const struct ptl_stream *stream, uint64_t from, uint64_t to,
		       struct relog_cut_range *range)
{
	const struct ptl_psb *psbs;
	size_t count, first = SIZE_MAX, last = 0;
	int status = ptl_psb_index(trace, stream->id, &psbs, &count);

	*range = (struct relog_cut_range){.any = false};
	if (status || !stream->bytes)
		return status;
	for (size_t i = count && !psbs[0].offset ? 1 : 0; i <= count; i++) {
		const struct segment segment = segment_at(stream, psbs, count, i);

		if (!is_needed(&segment, from, to))
			continue;
		first = first == SIZE_MAX ? i : first;
		last = i;
	}
	if (first == SIZE_MAX)
		return 0;
	status = describe_segments(trace, stream, psbs, count, first, last, range);
	return status ? common_fail_in(status, "stream %u", stream->id) : 0;
}
