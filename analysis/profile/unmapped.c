/* SPDX-License-Identifier: BSD-2-Clause */
/* Collects executed pages without an image, or without a named image. Joins adjacent pages, and ranks the ranges. */
#include "analysis/profile/unmapped.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/hash_map.h"
#include "common/vector.h"
#include "flow/view/shard.h"

#define PAGE_SHIFT 12

/* Pages of one process: from a segment while decoding, from a stream after merging. */
struct partial {
	struct common_hash_map pages; /* by page << 1 | has_code: index in ranges */
	struct analysis_unmapped *ranges;
	size_t count, capacity;
	uint32_t process, pid;
};

struct unmapped_view {
	const struct flow_timeline *timeline;
	bool in_images;
	struct analysis_unmapped_list *list;
	size_t capacity;
};

static int unmapped_begin(void *context, const struct flow_segment *segment, void **partial)
{
	struct partial *made = calloc(1, sizeof(*made));

	(void)context;
	if (!made)
		return common_fail_memory("unmapped ranges", sizeof(*made));
	made->process = segment->process;
	made->pid = segment->pid;
	*partial = made;
	return 0;
}

static void unmapped_drop(void *context, void *partial_)
{
	struct partial *partial = partial_;

	(void)context;
	common_hash_map_free(&partial->pages);
	free(partial->ranges);
	free(partial);
}

static int append_range(struct analysis_unmapped **ranges, size_t *count, size_t *capacity,
			const struct analysis_unmapped *range)
{
	if (COMMON_VECTOR_RESERVE(*ranges, *capacity, *count + 1, "unmapped ranges"))
		return PTL_NO_MEMORY;
	(*ranges)[(*count)++] = *range;
	return 0;
}

static void add_unmapped(struct analysis_unmapped *sum, const struct analysis_unmapped *more)
{
	if (more->first < sum->first)
		sum->first = more->first;
	if (more->last > sum->last)
		sum->last = more->last;
	sum->instructions += more->instructions;
	sum->gaps += more->gaps;
	sum->gap_bytes += more->gap_bytes;
	if (more->first_time && (!sum->first_time || more->first_time < sum->first_time))
		sum->first_time = more->first_time;
	if (more->last_time > sum->last_time)
		sum->last_time = more->last_time;
}

static int add_page(struct partial *partial, const struct analysis_unmapped *more)
{
	uint64_t key = more->first >> PAGE_SHIFT << 1 | more->has_code;
	const uint64_t *known = common_hash_map_get(&partial->pages, key);
	int status;

	if (known) {
		add_unmapped(&partial->ranges[*known], more);
		return 0;
	}
	status = common_hash_map_put(&partial->pages, key, partial->count);
	return status < 0 ? status : append_range(&partial->ranges, &partial->count, &partial->capacity, more);
}

/* Checks whether the image has a name. Recorders call memory without a name //anon. */
static bool has_name(const struct unmapped_view *view, uint32_t image)
{
	return image != FLOW_NONE && strcmp(flow_timeline_image(view->timeline, image)->data.file_name, "//anon") != 0;
}

static int unmapped_add_block(struct partial *partial, const struct flow_block *block, uint64_t time)
{
	const struct analysis_unmapped range = {
		.process = partial->process,
		.pid = partial->pid,
		.image = FLOW_NONE,
		.first = block->ip,
		.last = block->ip + block->size - 1,
		.has_code = true,
		.instructions = block->instructions,
		.first_time = time,
		.last_time = time,
	};

	return add_page(partial, &range);
}

/* Adds a gap with missing code: either no image covers the address, or the image's bytes are missing. */
static int add_gap(const struct unmapped_view *view, struct partial *partial, const struct flow_segment *segment,
		   const struct flow_event *event)
{
	struct analysis_unmapped range = {
		.process = partial->process,
		.pid = partial->pid,
		.image = FLOW_NONE,
		.first = event->from,
		.last = event->from,
		.gaps = 1,
		.gap_bytes = event->size,
		.first_time = event->time,
		.last_time = event->time,
	};
	struct flow_place place;

	if (segment->process != FLOW_NONE &&
	    flow_timeline_find(view->timeline, segment->process, segment->code_time, event->from, &place) &&
	    has_name(view, place.image)) {
		if (!view->in_images)
			return 0;
		range.image = place.image;
	}
	return add_page(partial, &range);
}

static int unmapped_consume(void *context, void *partial_, const struct flow_segment *segment,
			    const struct flow_batch *batch)
{
	struct flow_batch_cursor cursor = flow_batch_walk(batch);
	struct partial *partial = partial_;
	int status = 0;

	while (!status && flow_batch_next(&cursor)) {
		if (cursor.block && !has_name(context, cursor.block->image))
			status = unmapped_add_block(partial, cursor.block, cursor.time);
		else if (cursor.event && cursor.event->kind == FLOW_GAP && cursor.event->cause == FLOW_GAP_CODE)
			status = add_gap(context, partial, segment, cursor.event);
	}
	return status;
}

static int unmapped_merge(void *context, void *left, void *right_)
{
	struct partial *right = right_;
	int status = 0;

	for (size_t i = 0; !status && i < right->count; i++)
		status = add_page(left, &right->ranges[i]);
	unmapped_drop(context, right);
	return status;
}

static int unmapped_finish(void *context, const struct flow_segment *last, void *result)
{
	struct unmapped_view *view = context;
	struct partial *partial = result;
	int status = 0;

	(void)last;
	for (size_t i = 0; !status && i < partial->count; i++)
		status = append_range(&view->list->ranges, &view->list->count, &view->capacity, &partial->ranges[i]);
	unmapped_drop(context, partial);
	return status;
}

/* ---- shards ------------------------------------------------------------------------------ */

static int unmapped_save(void *context, const struct flow_segment *segment, const void *partial_,
			 struct ptl_bytes *record)
{
	const struct partial *partial = partial_;

	(void)context;
	(void)segment;
	common_write_varint(record, partial->count);
	for (size_t i = 0; i < partial->count; i++) {
		const struct analysis_unmapped *range = &partial->ranges[i];

		common_write_varint(record, range->image == FLOW_NONE ? 0 : (uint64_t)range->image + 1);
		common_write_varint(record, range->has_code);
		common_write_varint(record, range->first);
		common_write_varint(record, range->last - range->first);
		common_write_varint(record, range->instructions);
		common_write_varint(record, range->gaps);
		common_write_varint(record, range->gap_bytes);
		common_write_varint(record, range->first_time);
		common_write_varint(record, range->last_time);
	}
	return 0;
}

static struct analysis_unmapped read_range(const struct unmapped_view *view, const struct flow_segment *segment,
					   struct common_cursor *record)
{
	const uint64_t images = flow_timeline_image_count(view->timeline);
	const uint64_t image = flow_shard_read_below(record, images + 1);
	struct analysis_unmapped range = {
		.process = segment->process,
		.pid = segment->pid,
		.image = image ? (uint32_t)(image - 1) : FLOW_NONE,
		.has_code = flow_shard_read_below(record, 2),
	};
	uint64_t size;

	range.first = common_read_varint(record);
	size = common_read_varint(record);
	record->failed |= size > UINT64_MAX - range.first;
	range.last = range.first + size;
	range.instructions = common_read_varint(record);
	range.gaps = common_read_varint(record);
	range.gap_bytes = common_read_varint(record);
	range.first_time = common_read_varint(record);
	range.last_time = common_read_varint(record);
	return range;
}

static int unmapped_load(void *context, const struct flow_segment *segment, struct common_cursor *record, void **result)
{
	int status = unmapped_begin(context, segment, result);
	const uint64_t count = common_read_varint(record);

	for (uint64_t i = 0; !status && i < count && !record->failed; i++) {
		const struct analysis_unmapped range = read_range(context, segment, record);

		if (!record->failed)
			status = add_page(*result, &range);
	}
	return status;
}

static const struct flow_view_codec codec = {.name = "unmapped", .save = unmapped_save, .load = unmapped_load};

/* ---- the list ---------------------------------------------------------------------------- */

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_place(const void *a_, const void *b_)
{
	const struct analysis_unmapped *a = a_, *b = b_;
	int order = compare_numbers(a->process, b->process);

	if (!order)
		order = compare_numbers(a->pid, b->pid);
	if (!order)
		order = compare_numbers(a->image, b->image);
	if (!order)
		order = compare_numbers(a->has_code, b->has_code);
	return order ? order : compare_numbers(a->first, b->first);
}

static int by_harm(const void *a_, const void *b_)
{
	const struct analysis_unmapped *a = a_, *b = b_;
	int order = compare_numbers(b->gap_bytes, a->gap_bytes);

	if (!order)
		order = compare_numbers(b->gaps, a->gaps);
	if (!order)
		order = compare_numbers(b->instructions, a->instructions);
	return order ? order : by_place(a, b);
}

/* Checks whether next is in the pages of range (from another thread), or in the following page. */
static bool is_neighbour(const struct analysis_unmapped *range, const struct analysis_unmapped *next)
{
	return range->process == next->process && range->pid == next->pid && range->image == next->image &&
	       range->has_code == next->has_code && next->first >> PAGE_SHIFT <= (range->last >> PAGE_SHIFT) + 1;
}

static void join_neighbours(struct analysis_unmapped_list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++) {
		if (kept && is_neighbour(&list->ranges[kept - 1], &list->ranges[i]))
			add_unmapped(&list->ranges[kept - 1], &list->ranges[i]);
		else
			list->ranges[kept++] = list->ranges[i];
	}
	list->count = kept;
}

int analysis_unmapped_run(struct ptl_trace *trace, const struct flow_timeline *timeline,
			  const struct flow_view_options *options, bool in_images, struct analysis_unmapped_list *list)
{
	struct unmapped_view context = {.timeline = timeline, .in_images = in_images, .list = list};
	const struct flow_view view = {
		.context = &context,
		.begin = unmapped_begin,
		.consume = unmapped_consume,
		.merge = unmapped_merge,
		.finish = unmapped_finish,
		.drop = unmapped_drop,
		.codec = &codec,
	};
	int status;

	*list = (struct analysis_unmapped_list){0};
	status = flow_view_run(trace, timeline, options, &view);
	if (status < 0) {
		analysis_unmapped_free(list);
		return status;
	}
	if (list->count) {
		qsort(list->ranges, list->count, sizeof(*list->ranges), by_place);
		join_neighbours(list);
		qsort(list->ranges, list->count, sizeof(*list->ranges), by_harm);
	}
	return 0;
}

void analysis_unmapped_free(struct analysis_unmapped_list *list)
{
	free(list->ranges);
	*list = (struct analysis_unmapped_list){0};
}
