/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares versions of an address space: first finds the pieces that differ, then compares the bytes of these pieces.
 */
#include "flow/code/code_change.h"

#include <string.h>

/* maximum number of compared ranges; versions with more differences have little in common */
#define STEPS_MAX 4096
/* bytes of one comparison; unchanged grains between changes stay valid */
#define GRAIN 64

void flow_code_range(const struct flow_code *code, flow_root root, uint64_t ip, struct flow_code_range *range)
{
	struct format_piece piece;
	const uint8_t *blob;
	uint64_t size;

	*range = (struct flow_code_range){.image = FLOW_NONE};
	if (!flow_version_find(flow_code_timeline(code), root, ip, &piece)) {
		range->first = piece.first;
		range->last = piece.last;
		return;
	}
	range->first = piece.first;
	range->last = piece.last;
	range->image = piece.image;
	range->code_event = piece.code_event;
	blob = flow_code_blob(code, piece.blob, &size);
	if (!blob || piece.offset >= size)
		return;
	/* The blob may be shorter than the image. Bytes behind the blob's end are unknown. */
	size -= piece.offset;
	if (size - 1 < piece.last - piece.first) {
		if (ip - piece.first >= size) {
			range->first = piece.first + size;
			return;
		}
		range->last = piece.first + size - 1;
	}
	range->bytes = blob + piece.offset;
}

struct comparison {
	const struct flow_code *code;
	flow_root one, other;
	struct flow_code_span *changes;
	size_t count;
	uint64_t done; /* first address not compared yet */
	unsigned steps;
	bool alike; /* images with equal data count as equal */
	bool too_many;
	bool all_done; /* compared up to the end of the address space */
};

static void add_changed_range(struct comparison *comparison, uint64_t first, uint64_t last)
{
	struct flow_code_span *newest = comparison->changes + comparison->count - 1;

	if (comparison->count && first - newest->last <= 1)
		newest->last = last;
	else if (comparison->count == FLOW_CODE_CHANGES)
		comparison->too_many = true;
	else
		comparison->changes[comparison->count++] = (struct flow_code_span){first, last};
}

/* Compares the bytes of [first, last], which lie in different blobs. */
static void compare_bytes(struct comparison *comparison, uint64_t first, uint64_t last, const uint8_t *one,
			  const uint8_t *other)
{
	for (uint64_t done = 0, size; done <= last - first; done += size) {
		size = last - first - done < GRAIN - 1 ? last - first - done + 1 : GRAIN;
		if (memcmp(one + done, other + done, size))
			add_changed_range(comparison, first + done, first + done + size - 1);
	}
}

static bool is_same_image(const struct comparison *comparison, uint32_t one, uint32_t other)
{
	const struct flow_timeline *timeline = flow_code_timeline(comparison->code);

	return one == other ||
	       (comparison->alike && flow_timeline_alike(timeline, one) == flow_timeline_alike(timeline, other));
}

/* Compares the addresses from `first` on, within a single range of both versions. Returns the last compared address. */
static uint64_t compare_range(struct comparison *comparison, uint64_t first, uint64_t last)
{
	struct flow_code_range one, other;

	flow_code_range(comparison->code, comparison->one, first, &one);
	flow_code_range(comparison->code, comparison->other, first, &other);
	if (one.last < last)
		last = one.last;
	if (other.last < last)
		last = other.last;
	/* Without bytes, no instruction was decoded from the range, so other differences do not matter. */
	if (!one.bytes && !other.bytes)
		return last;
	if (!one.bytes || !other.bytes || !is_same_image(comparison, one.image, other.image) ||
	    one.code_event != other.code_event)
		add_changed_range(comparison, first, last);
	else if (one.bytes + (first - one.first) != other.bytes + (first - other.first))
		compare_bytes(comparison, first, last, one.bytes + (first - one.first),
			      other.bytes + (first - other.first));
	return last;
}

static bool compare_ranges(void *context, uint64_t first, uint64_t last)
{
	struct comparison *comparison = context;
	uint64_t at = first < comparison->done ? comparison->done : first;

	while (!comparison->all_done && at <= last) {
		uint64_t end;

		if (++comparison->steps > STEPS_MAX)
			return false;
		end = compare_range(comparison, at, last);
		comparison->all_done = end == UINT64_MAX;
		comparison->done = at = end + 1;
	}
	return !comparison->too_many;
}

size_t flow_code_changes(const struct flow_code *code, flow_root one, flow_root other, bool alike,
			 struct flow_code_span *changes)
{
	struct comparison comparison = {.code = code, .one = one, .other = other, .changes = changes, .alike = alike};

	if (one == other)
		return 0;
	if (!flow_version_compare(flow_code_timeline(code), one, other, compare_ranges, &comparison))
		return FLOW_CODE_CHANGES + 1;
	return comparison.count;
}

/* Checks whether the known bytes of [first, last] in version `one` are equal in version `other`. */
static bool keeps(const struct flow_code *code, flow_root one, flow_root other, struct flow_code_span span)
{
	for (uint64_t at = span.first;; at++) {
		struct flow_code_range before, after;
		uint64_t last = span.last;

		flow_code_range(code, one, at, &before);
		flow_code_range(code, other, at, &after);
		if (before.last < last)
			last = before.last;
		if (after.last < last)
			last = after.last;
		if (before.bytes && (!after.bytes || memcmp(before.bytes + (at - before.first),
							    after.bytes + (at - after.first), last - at + 1)))
			return false;
		if (last == span.last)
			return true;
		at = last;
	}
}

bool flow_code_keeps(const struct flow_code *code, flow_root one, flow_root other)
{
	struct flow_code_span changes[FLOW_CODE_CHANGES];
	size_t count = flow_code_changes(code, one, other, false, changes);

	if (count > FLOW_CODE_CHANGES)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!keeps(code, one, other, changes[i]))
			return false;
	return true;
}
