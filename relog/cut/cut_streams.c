/* SPDX-License-Identifier: BSD-2-Clause */
/* What the cut keeps of streams: the segments of PT that overlap the window, of the chosen threads. */
#include "relog/cut/cut_streams.h"

#include "common/error.h"
#include "relog/cut/pt.h"

/* --- before the first event --------------------------------------------------------------------------- */

/*
 * Converts a time of the output to the clock of an input. A time before the input's clock starts becomes 0; 0 and
 * UINT64_MAX (no bound) stay.
 */
static uint64_t own_time(uint64_t time, int64_t shift)
{
	if (time == 0 || time == UINT64_MAX)
		return time;
	if (shift > 0 && time < (uint64_t)shift)
		return 0;
	return time - (uint64_t)shift;
}

static int range_of(const struct relog_cut *cut, struct ptl_relogger_input *input, const struct ptl_stream *stream,
		    struct relog_cut_range *range)
{
	struct ptl_relogger_input_info info;
	int status;

	ptl_relogger_input_info(input, &info);
	status = relog_cut_pt_range(ptl_relogger_input_trace(input), stream, own_time(cut->from, info.time_shift),
				    own_time(cut->to, info.time_shift), range);
	if (range->first_time)
		range->first_time += (uint64_t)info.time_shift;
	if (range->last_time != UINT64_MAX)
		range->last_time += (uint64_t)info.time_shift;
	return status;
}

/* Widens [start, stop] to the segments that the stream needs. */
static int look_at_stream(struct relog_cut *cut, struct ptl_relogger_input *input, const struct ptl_stream *stream)
{
	struct ptl_stream mapped = *stream;
	struct relog_cut_range range;
	const uint64_t *stop;
	int status = relog_map_stream(input, &mapped);

	if (status || !relog_wants_stream(&cut->selection, &mapped))
		return status;
	status = range_of(cut, input, stream, &range);
	if (status || !range.any)
		return status;
	if (range.first_time < cut->start)
		cut->start = range.first_time;
	if (range.last_time > cut->stop)
		cut->stop = range.last_time;
	stop = common_hash_map_get(&cut->stops, mapped.pid);
	if (stop && *stop >= range.last_time)
		return 0;
	return common_hash_map_put(&cut->stops, mapped.pid, range.last_time);
}

int relog_cut_look_at_streams(struct relog_cut *cut, struct ptl_relogger_input *input)
{
	struct ptl_trace *trace = ptl_relogger_input_trace(input);
	int status = 0;

	for (size_t i = 0; !status && i < ptl_stream_count(trace); i++)
		if (ptl_stream_at(trace, i)->kind == PTL_KIND_PT)
			status = look_at_stream(cut, input, ptl_stream_at(trace, i));
	return status;
}

static bool note_pt_of_cpu(struct relog_cut *cut, const struct ptl_trace *trace, const struct ptl_stream *stream)
{
	if (stream->kind != PTL_KIND_PT || stream->pid != PTL_NO_ID)
		return false;
	cut->of_cpus = true;
	cut->everyone |= ptl_trace_machine(trace)->return_compression;
	return true;
}

void relog_cut_look_for_pt_of_cpus(struct relog_cut *cut)
{
	for (size_t i = 0; i < ptl_relogger_input_count(cut->relogger); i++) {
		const struct ptl_trace *trace = ptl_relogger_input_trace(ptl_relogger_input_at(cut->relogger, i));

		for (size_t k = 0; k < ptl_stream_count(trace); k++)
			(void)note_pt_of_cpu(cut, trace, ptl_stream_at(trace, k));
	}
}

/* --- while streams pass ------------------------------------------------------------------------------- */

static uint64_t kept_bytes(const struct ptl_stream *stream, const struct ptl_stream_range *range)
{
	const uint64_t end = range->end < stream->bytes ? range->end : stream->bytes;

	return end > range->first ? end - range->first : 0;
}

static void note_times(struct relog_cut *cut, struct ptl_relogger_input *input, const struct ptl_stream *stream,
		       bool is_inside)
{
	struct ptl_relogger_input_info info;

	cut->pt_inside |= is_inside;
	if (is_inside || !stream->bytes || !stream->first_time)
		return;
	ptl_relogger_input_info(input, &info);
	if (!cut->pt_outside || stream->first_time + (uint64_t)info.time_shift < cut->pt_first)
		cut->pt_first = stream->first_time + (uint64_t)info.time_shift;
	if (!cut->pt_outside || stream->last_time + (uint64_t)info.time_shift > cut->pt_last)
		cut->pt_last = stream->last_time + (uint64_t)info.time_shift;
	cut->pt_outside = true;
}

static int cut_pt(struct relog_cut *cut, struct ptl_relogger_input *input, const struct ptl_stream *stream,
		  struct ptl_stream_plan *plan)
{
	struct relog_cut_range range;
	const int status = range_of(cut, input, stream, &range);

	if (status)
		return status;
	note_times(cut, input, stream, range.all || range.any);
	if (range.all)
		return 0;
	plan->drop = !range.any;
	if (range.any) {
		cut->kept = (struct ptl_stream_range){range.first, range.end};
		plan->ranges = &cut->kept;
		plan->range_count = 1;
		cut->dropped_bytes += stream->bytes - kept_bytes(stream, &cut->kept);
	}
	return 0;
}

static bool is_dropped(const struct relog_cut *cut, const struct ptl_stream *mapped)
{
	return (mapped->kind == PTL_KIND_PT || mapped->kind == PTL_KIND_TRUTH) &&
	       (cut->settings->drop_pt || !relog_wants_stream(&cut->selection, mapped));
}

int relog_cut_take_stream(void *context, struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			  const struct ptl_stream *stream, struct ptl_stream_plan *plan)
{
	struct relog_cut *cut = context;
	struct ptl_stream mapped = *stream;
	int status = relog_map_stream(input, &mapped);

	if (status || (stream->kind != PTL_KIND_PT && stream->kind != PTL_KIND_TRUTH))
		return status;
	if (cut->live && !cut->settings->drop_pt && !cut->of_cpus &&
	    note_pt_of_cpu(cut, ptl_relogger_input_trace(input), stream) && cut->dropped_events)
		status = relog_late_switches(&cut->late, relogger);
	if (is_dropped(cut, &mapped)) {
		plan->drop = true;
	} else if (stream->kind == PTL_KIND_TRUTH) {
		plan->drop = cut->by_time;
		cut->truth_dropped |= plan->drop;
	} else if (cut->by_time && cut->live) {
		status = common_fail(PTL_UNSUPPORTED,
				     "Intel PT comes in a trace that said it has none: cut it when it is over");
	} else if (cut->by_time) {
		status = cut_pt(cut, input, stream, plan);
	}
	if (plan->drop && !cut->live)
		cut->dropped_bytes += stream->bytes;
	return status;
}

int relog_cut_count_dropped(struct relog_cut *cut)
{
	const struct ptl_relogger_input *input = ptl_relogger_input_at(cut->relogger, 0);
	const struct ptl_trace *trace = ptl_relogger_input_trace(input);
	int status = 0;

	for (size_t i = 0; !status && cut->live && i < ptl_stream_count(trace); i++) {
		struct ptl_stream mapped = *ptl_stream_at(trace, i);

		status = relog_map_stream(input, &mapped);
		if (!status && is_dropped(cut, &mapped))
			cut->dropped_bytes += mapped.bytes;
	}
	return status;
}
