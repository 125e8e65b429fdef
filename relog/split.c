/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Splits by cutting several times. The size of a span of time is estimated from the buffers of the inputs. A part that
 * becomes too large is written again with a shorter span.
 */
#include "relog/split.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ptl/relogger.h>

#include "common/error.h"
#include "common/plural.h"
#include "common/program/message.h"
#include "common/vector.h"
#include "relog/part_files.h"

#define TRIES 6 /* attempts for a part */
#define PARTS_MAX 10000u
#define MARGIN 64u * 1024u /* reserve in a part for metadata and index */

/* Size and time range of a buffer. */
struct span {
	uint64_t first, last;
	uint64_t bytes;
};

struct split {
	const struct relog_settings *settings;
	struct span *spans;
	size_t count, capacity;
	uint64_t start, end; /* time range to split, both inclusive */
	uint64_t fixed;      /* bytes of code and metadata that every part may need */
	struct relog_part_files files;
	size_t large_count; /* parts that are larger than requested */
	uint64_t largest;
};

/* --- examining the inputs ------------------------------------------------------------------------------ */

static int add_span(struct split *split, const struct ptl_buffer *buffer, uint64_t shift)
{
	if (COMMON_VECTOR_RESERVE(split->spans, split->capacity, split->count + 1, "buffers"))
		return PTL_NO_MEMORY;
	split->spans[split->count++] = (struct span){buffer->first_time + shift, buffer->last_time + shift,
						     buffer->stored_size};
	return 0;
}

static int look_at_input(struct split *split, const struct ptl_relogger_input *input)
{
	const struct ptl_trace *trace = ptl_relogger_input_trace(input);
	struct ptl_relogger_input_info info;
	int status = 0;

	ptl_relogger_input_info(input, &info);
	for (size_t i = 0; !status && i < ptl_buffer_count(trace); i++) {
		const struct ptl_buffer *buffer = ptl_buffer_at(trace, i);

		if (!buffer->last_time)
			split->fixed += buffer->stored_size;
		else
			status = add_span(split, buffer, (uint64_t)info.time_shift);
	}
	return status;
}

static int look_at_inputs(void *context, struct ptl_relogger *relogger)
{
	struct split *split = context;
	const struct ptl_machine *machine = ptl_trace_machine(
		ptl_relogger_input_trace(ptl_relogger_input_at(relogger, 0)));
	int status = 0;

	if (machine->clock == PTL_CLOCK_NONE)
		return common_fail(PTL_MISUSE, "--split: this trace has no clock: nothing in it has a time");
	status = relog_cut_times(&split->settings->cut, relogger, &split->start, &split->end);
	for (size_t i = 0; !status && i < ptl_relogger_input_count(relogger); i++)
		status = look_at_input(split, ptl_relogger_input_at(relogger, i));
	return status;
}

/* Limits the time range to split to the time range of the inputs. */
static void bound(struct split *split)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < split->count; i++) {
		first = split->spans[i].first < first ? split->spans[i].first : first;
		last = split->spans[i].last > last ? split->spans[i].last : last;
	}
	if (split->start < first)
		split->start = first;
	if (split->end > last)
		split->end = last;
}

/* --- choosing the bounds ---------------------------------------------------------------------------------- */

/* Estimates the bytes of the inputs in [from, to], as if a buffer's bytes were spread evenly over its time range. */
static double bytes_within(const struct split *split, uint64_t from, uint64_t to)
{
	double bytes = 0;

	for (size_t i = 0; i < split->count; i++) {
		const struct span *span = &split->spans[i];
		const uint64_t first = span->first > from ? span->first : from;
		const uint64_t last = span->last < to ? span->last : to;

		if (first <= last)
			bytes += (double)span->bytes * ((double)(last - first) + 1) /
				 ((double)(span->last - span->first) + 1);
	}
	return bytes;
}

/* Returns the latest end of a part that starts at `from` and has at most `bytes` bytes. */
static uint64_t find_end(const struct split *split, uint64_t from, double bytes)
{
	uint64_t low = from, high = split->end;

	while (low < high) {
		const uint64_t middle = low + (high - low + 1) / 2;

		if (bytes_within(split, from, middle) <= bytes)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* --- writing ------------------------------------------------------------------------------------------ */

/* Writes [from, to] as the next part. *size: bytes of the file. */
static int write_part(struct split *split, uint64_t from, uint64_t to, bool *damaged, uint64_t *size)
{
	const struct common_time_span *span = &split->settings->cut.span;
	/* The first part begins, and the last part ends, at the bounds of the settings, which may be no bounds. */
	const struct common_time_span part = {
		.from = from == split->start ? span->from : (struct common_time_bound){true, true, from, false},
		.to = to == split->end ? span->to : (struct common_time_bound){true, true, to, false},
	};

	return relog_part_files_write(&split->files, &part, damaged, size);
}

/*
 * Whether a shorter span would help. Code and rundown do not shrink with the span, and tiny parts would only repeat
 * them more often.
 */
static bool is_too_long(const struct split *split, uint64_t from, uint64_t to, uint64_t size)
{
	const double others = (double)size - bytes_within(split, from, to);

	return to > from && others < 0.75 * (double)split->settings->split;
}

/* Writes a part from `from` on that fits, if possible. *to: end of the part. */
static int make_part(struct split *split, uint64_t from, uint64_t *to, bool *damaged)
{
	const uint64_t wanted = split->settings->split;
	const uint64_t fixed = split->fixed + MARGIN;
	double bytes = wanted > fixed + wanted / 4 ? (double)(wanted - fixed) : (double)wanted / 2;
	uint64_t size = 0;

	for (unsigned try = 0; try < TRIES; try++) {
		int status;

		*to = find_end(split, from, bytes);
		status = write_part(split, from, *to, damaged, &size);
		if (status || size <= wanted)
			return status;
		if (!is_too_long(split, from, *to, size))
			break;
		bytes = bytes * 0.9 * (double)wanted / (double)size;
	}
	split->large_count++;
	split->largest = size > split->largest ? size : split->largest;
	return 0;
}

static int make_parts(struct split *split, bool *damaged)
{
	uint64_t from = split->start;
	int status = 0;

	while (!status) {
		uint64_t to;

		status = relog_part_files_next(&split->files);
		if (!status)
			status = make_part(split, from, &to, damaged);
		if (status || to >= split->end)
			return status;
		if (split->files.count == PARTS_MAX)
			return common_fail(PTL_MISUSE, "--split: more than %u parts", PARTS_MAX);
		from = to + 1;
	}
	return status;
}

int relog_split(const struct relog_settings *settings, bool *damaged)
{
	struct split split = {.settings = settings, .files = {.settings = settings}};
	int status = relog_part_files_look(&split.files, look_at_inputs, &split);

	if (!status && !split.count)
		status = common_fail(PTL_MISUSE, "--split: nothing in this trace has a time");
	if (!status) {
		bound(&split);
		status = make_parts(&split, damaged);
	}
	if (!status)
		status = relog_part_files_commit(&split.files);
	if (!status)
		common_message_note("%zu part%s", split.files.count, split.files.count == 1 ? "" : "s");
	if (!status && split.large_count) {
		common_message_warning("%zu of %zu parts could not be made smaller than asked; the largest has %" PRIu64
				       " " COMMON_PLURAL("byte", "bytes") ": each needs code and rundown of its own",
				       split.large_count, split.files.count, split.largest);
		common_message_hint("a larger --split, or --drop-code");
	}
	relog_part_files_free(&split.files);
	free(split.spans);
	return status;
}
