/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts the executed code of each trace by a profile, under keys that do not depend on load addresses. */
#include "analysis/difference/diff_counts.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/difference/diff_last.h"
#include "analysis/difference/diff_times.h"
#include "analysis/profile/profile.h"
#include "common/error.h"
#include "common/vector.h"
#include "flow/view/shard.h"

/* A time difference below 1/TIME_SHARE of the total time is ignored. */
#define TIME_SHARE 1000

/* Identity of an item on both sides. Items with equal keys are the same. */
struct key {
	uint64_t place; /* address in the image, or number of a function name */
	uint64_t to;
	uint32_t image; /* keys of images */
	uint32_t to_image;
	uint32_t kind;
	uint32_t way;
};

struct counting {
	struct analysis_diff *diff;
	struct analysis_diff_item *items;
	uint64_t *counts; /* a count for each item and run */
	size_t count;
	struct common_byte_map by_key;
	struct common_byte_map names; /* numbers of function names */
	/* the current run */
	const struct analysis_diff_run *run;
	uint32_t number;
	const struct analysis_profile *profile;

	bool untimed;     /* a run has no times */
	uint64_t most[2]; /* largest total of any run, by kind from ANALYSIS_DIFF_TIME on */
};

static uint64_t in_process(const struct counting *counting, const struct analysis_profile_block *block,
			   uint64_t address)
{
	const struct ptl_image_event *data;

	if (block->image == FLOW_NONE)
		return address;
	data = &flow_timeline_image(counting->run->timeline, block->image)->data;
	return address - data->default_base + data->base;
}

static struct analysis_diff_image image_of(const struct counting *counting, const struct analysis_profile_block *block)
{
	if (block->image == FLOW_NONE)
		return (struct analysis_diff_image){.key = ANALYSIS_DIFF_NO_IMAGE};
	return counting->run->images[block->image];
}

/* ---- items --------------------------------------------------------------------------------------- */

static int make_item(struct counting *counting, const struct analysis_diff_item *like, size_t *index)
{
	const size_t runs = counting->diff->count;

	*index = counting->count;
	if (!common_vector_room(&counting->items, *index, sizeof(*counting->items)) ||
	    !common_vector_room(&counting->counts, *index, runs * sizeof(*counting->counts)))
		return common_fail_memory("counts", *index * sizeof(*counting->items));
	counting->items[*index] = *like;
	counting->items[*index].run = counting->number;
	memset(&counting->counts[*index * runs], 0, runs * sizeof(*counting->counts));
	counting->count++;
	return 0;
}

static int add_count(struct counting *counting, const struct key *key, const struct analysis_diff_item *like,
		     uint64_t count)
{
	const uint64_t *known;
	size_t index;
	int status = 0;

	if (!count)
		return 0;
	known = common_byte_map_get(&counting->by_key, key, sizeof(*key));
	if (known) {
		index = *known;
	} else {
		status = make_item(counting, like, &index);
		if (!status)
			status = common_byte_map_put(&counting->by_key, key, sizeof(*key), index);
	}
	if (!status)
		counting->counts[index * counting->diff->count + counting->number] += count;
	return status;
}

static int name_number_of(struct counting *counting, const char *name, uint64_t *number)
{
	const uint64_t *known = common_byte_map_get(&counting->names, name, strlen(name));

	*number = known ? *known : counting->names.used;
	return known ? 0 : common_byte_map_put(&counting->names, name, strlen(name), *number);
}

static int add_function(struct counting *counting, const struct analysis_profile_block *block,
			const struct analysis_diff_image *image, const struct flow_symbol *symbol)
{
	const uint64_t ip = in_process(counting, block, block->address);
	struct key key = {.image = image->key, .kind = ANALYSIS_DIFF_FUNCTION};
	const struct analysis_diff_item like = {
		.kind = ANALYSIS_DIFF_FUNCTION,
		.calls = image->by_symbol,
		.image = block->image,
		.place = ip - (symbol ? symbol->offset : 0),
	};
	int status = name_number_of(counting, symbol ? symbol->name : "", &key.place);

	if (status || (like.calls && symbol && symbol->offset))
		return status;
	return add_count(counting, &key, &like, block->count * (like.calls ? 1 : block->instructions));
}

/* Returns the address of the block's last instruction. */
static uint64_t last_address(const struct analysis_profile_block *block)
{
	return block->address + block->size - block->lengths[block->instructions - 1];
}

static int diff_add_block(struct counting *counting, const struct analysis_profile_block *block, uint32_t image)
{
	const uint64_t last = last_address(block), place = in_process(counting, block, last);
	struct key key = {.place = last, .image = image, .kind = ANALYSIS_DIFF_BLOCK};
	struct analysis_diff_item like = {.kind = ANALYSIS_DIFF_BLOCK, .image = block->image, .place = place};
	int status = add_count(counting, &key, &like, block->count);

	if (status || block->branch != FLOW_BRANCH_CONDITIONAL)
		return status;
	like.kind = ANALYSIS_DIFF_EDGE;
	key.kind = ANALYSIS_DIFF_EDGE;
	like.way = ANALYSIS_DIFF_TAKEN;
	key.way = ANALYSIS_DIFF_TAKEN;
	status = add_count(counting, &key, &like, block->taken);
	like.way = ANALYSIS_DIFF_NOT_TAKEN;
	key.way = ANALYSIS_DIFF_NOT_TAKEN;
	return status ? status : add_count(counting, &key, &like, block->not_taken);
}

static int add_edge(struct counting *counting, const struct analysis_profile_edge *edge)
{
	const struct analysis_profile_block *from = &counting->profile->blocks[edge->from];
	const struct analysis_profile_block *to = &counting->profile->blocks[edge->to];
	const struct analysis_diff_image image = image_of(counting, from), to_image = image_of(counting, to);
	const struct key key = {
		.place = last_address(from),
		.to = to->address,
		.image = image.key,
		.to_image = to_image.key,
		.kind = ANALYSIS_DIFF_EDGE,
		.way = ANALYSIS_DIFF_TO,
	};
	const struct analysis_diff_item like = {
		.kind = ANALYSIS_DIFF_EDGE,
		.way = ANALYSIS_DIFF_TO,
		.image = from->image,
		.place = in_process(counting, from, key.place),
		.to_image = to->image,
		.to = in_process(counting, to, to->address),
	};

	if (!image.key || !to_image.key || image.by_symbol || to_image.by_symbol)
		return 0;
	return add_count(counting, &key, &like, edge->count);
}

/* ---- runs ---------------------------------------------------------------------------------------- */

static bool is_ignored(const struct counting *counting, const struct analysis_profile_block *block, const char *name)
{
	const char *path;

	if (block->image == FLOW_NONE)
		return false;
	path = flow_timeline_image(counting->run->timeline, block->image)->data.file_name;
	return analysis_ignores_address(counting->diff->ignore, path, block->address) ||
	       (name && analysis_ignores_function(counting->diff->ignore, name));
}

static int take_block(struct counting *counting, const struct analysis_profile_block *block, bool *ignored)
{
	const struct analysis_diff_image image = image_of(counting, block);
	struct flow_symbol symbol;
	const bool named = flow_symbols_find(counting->run->symbols, block->image,
					     in_process(counting, block, block->address), &symbol);
	int status;

	*ignored = !image.key || is_ignored(counting, block, named ? symbol.name : NULL);
	if (*ignored)
		return 0;
	status = add_function(counting, block, &image, named ? &symbol : NULL);
	if (status || image.by_symbol || block->branch == FLOW_BRANCH_NONE)
		return status;
	return diff_add_block(counting, block, image.key);
}

static int take_profile(struct counting *counting)
{
	const struct analysis_profile *profile = counting->profile;
	bool *ignored = calloc(profile->block_count + 1, sizeof(*ignored));
	int status = ignored ? 0 : common_fail_memory("blocks", profile->block_count);

	for (size_t i = 0; !status && i < profile->block_count; i++)
		status = take_block(counting, &profile->blocks[i], &ignored[i]);
	for (size_t i = 0; !status && i < profile->edge_count; i++)
		if (!ignored[profile->edges[i].from] && !ignored[profile->edges[i].to])
			status = add_edge(counting, &profile->edges[i]);
	free(ignored);
	return status;
}

static int count_run(struct counting *counting, uint32_t number)
{
	struct analysis_diff_run *run = &counting->diff->runs[number];
	struct analysis_profile profile;
	int status = analysis_profile_run(run->input.trace, run->timeline, &run->input.view, true, &profile);

	if (status)
		return common_fail_in(status, "%s", run->input.path);
	counting->run = run;
	counting->number = number;
	counting->profile = &profile;
	status = take_profile(counting);
	analysis_profile_free(&profile);
	return status;
}

/* ---- times --------------------------------------------------------------------------------------- */

static int take_time(struct counting *counting, const struct analysis_diff_time *time)
{
	const struct analysis_diff_image *image = &counting->run->images[time->image];
	struct key key = {.image = image->key, .kind = ANALYSIS_DIFF_TIME};
	struct analysis_diff_item like = {.kind = ANALYSIS_DIFF_TIME, .image = time->image, .place = time->place};
	const char *path = flow_timeline_image(counting->run->timeline, time->image)->data.file_name;
	int status = name_number_of(counting, time->name, &key.place);

	if (status || analysis_ignores_function(counting->diff->ignore, time->name) ||
	    analysis_ignores_address(
		    counting->diff->ignore, path,
		    flow_image_address(flow_timeline_image(counting->run->timeline, time->image), time->place)))
		return status;
	status = add_count(counting, &key, &like, time->time);
	key.kind = like.kind = ANALYSIS_DIFF_WORK;
	return status ? status : add_count(counting, &key, &like, time->instructions);
}

static int time_run(struct counting *counting, uint32_t number)
{
	struct analysis_diff_run *run = &counting->diff->runs[number];
	struct analysis_diff_times times;
	uint64_t sums[2] = {0};
	int status = analysis_diff_times_run(run, &times);

	counting->run = run;
	counting->number = number;
	counting->untimed |= !times.timed;
	for (size_t i = 0; !status && i < times.count; i++) {
		status = take_time(counting, &times.list[i]);
		sums[0] += times.list[i].time;
		sums[1] += times.list[i].instructions;
	}
	for (unsigned i = 0; i < 2; i++)
		counting->most[i] = sums[i] > counting->most[i] ? sums[i] : counting->most[i];
	analysis_diff_times_free(&times);
	return status < 0 ? common_fail_in(status, "%s", run->input.path) : status;
}

/* ---- comparison ---------------------------------------------------------------------------------- */

static uint8_t change_of(const struct analysis_diff_item *item)
{
	if (item->least[1] > item->most[0])
		return item->most[0] ? ANALYSIS_DIFF_MORE : ANALYSIS_DIFF_NEW;
	if (item->most[1] < item->least[0])
		return item->most[1] ? ANALYSIS_DIFF_FEWER : ANALYSIS_DIFF_GONE;
	return ANALYSIS_DIFF_SAME;
}

/* Compares times. A time of 0 means that the function is new, gone, or too short for timing packets: no difference. */
static uint8_t change_of_time(const struct counting *counting, const struct analysis_diff_item *item)
{
	const bool slower = item->least[1] > item->most[0];
	const uint64_t less = slower ? item->most[0] : item->most[1];
	const uint64_t more = slower ? item->least[1] : item->least[0];
	const uint64_t least = counting->most[item->kind - ANALYSIS_DIFF_TIME] / TIME_SHARE;

	if (!less || more <= less || more - less < least ||
	    (double)(more - less) * 100 < (double)less * (double)counting->diff->slower)
		return ANALYSIS_DIFF_SAME;
	return slower ? ANALYSIS_DIFF_SLOWER : ANALYSIS_DIFF_FASTER;
}

static void compare_item(const struct counting *counting, size_t index)
{
	const struct analysis_diff *diff = counting->diff;
	const uint64_t *counts = &counting->counts[index * diff->count];
	struct analysis_diff_item *item = &counting->items[index];

	item->least[0] = item->least[1] = UINT64_MAX;
	for (size_t i = 0; i < diff->count; i++) {
		const unsigned side = diff->runs[i].second;

		if (counts[i] < item->least[side])
			item->least[side] = counts[i];
		if (counts[i] > item->most[side])
			item->most[side] = counts[i];
	}
	item->change = item->kind < ANALYSIS_DIFF_TIME ? change_of(item) : change_of_time(counting, item);
}

static uint64_t distance(const struct analysis_diff_item *item)
{
	return item->least[1] > item->most[0] ? item->least[1] - item->most[0] : item->least[0] - item->most[1];
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static uint64_t file_address(const struct analysis_diff *diff, const struct analysis_diff_item *item)
{
	return item->image == FLOW_NONE
		       ? item->place
		       : flow_image_address(flow_timeline_image(diff->runs[item->run].timeline, item->image),
					    item->place);
}

static bool is_new_or_gone(const struct analysis_diff_item *item)
{
	return item->change == ANALYSIS_DIFF_NEW || item->change == ANALYSIS_DIFF_GONE;
}

static int by_distance(const void *a_, const void *b_, void *diff)
{
	const struct analysis_diff_item *a = a_, *b = b_;
	int order = compare_numbers(a->kind, b->kind);

	if (!order)
		order = compare_numbers(!is_new_or_gone(a), !is_new_or_gone(b));
	if (!order)
		order = compare_numbers(a->time_left, b->time_left);
	if (!order)
		order = compare_numbers(a->instructions_left, b->instructions_left);
	if (!order)
		order = compare_numbers(distance(b), distance(a));
	if (!order)
		order = compare_numbers(a->run, b->run);
	if (!order)
		order = compare_numbers(a->image, b->image);
	if (!order)
		order = compare_numbers(file_address(diff, a), file_address(diff, b));
	if (!order)
		order = compare_numbers(a->way, b->way);
	if (!order)
		order = compare_numbers(a->to_image, b->to_image);
	return order ? order : compare_numbers(a->to, b->to);
}

static void compare_items(struct counting *counting, struct analysis_diff_counts *counts)
{
	for (size_t i = 0; i < counting->count; i++) {
		const struct analysis_diff_item *item = &counting->items[i];

		if (item->kind == (counting->untimed ? ANALYSIS_DIFF_TIME : ANALYSIS_DIFF_WORK))
			continue;
		compare_item(counting, i);
		counts->kinds[item->kind]++;
		counts->changes[item->kind][item->change]++;
		if (item->change != ANALYSIS_DIFF_SAME)
			counting->items[counts->count++] = *item;
	}
	counts->items = counting->items;
	counting->items = NULL;
}

/* Finds the last executions of the run's new and gone items. */
static int find_lasts(const struct analysis_diff *diff, uint32_t number, struct analysis_diff_counts *counts)
{
	const struct analysis_diff_run *run = &diff->runs[number];
	struct analysis_diff_lasts lasts = {0};
	bool any = run->input.view.shard && run->input.view.shard->number;
	int status;

	for (size_t i = 0; i < counts->count; i++)
		any |= counts->items[i].run == number && is_new_or_gone(&counts->items[i]);
	if (!any)
		return 0;
	status = analysis_diff_lasts_run(run, &run->input.view, &lasts);
	for (size_t i = 0; !status && i < counts->count; i++) {
		struct analysis_diff_item *item = &counts->items[i];
		const struct analysis_diff_last *last = item->run == number && is_new_or_gone(item)
								? analysis_diff_lasts_find(&lasts, run, item)
								: NULL;

		if (!last)
			continue;
		item->instructions_left = last->instructions;
		if (last->time)
			item->time_left = lasts.end - last->time;
	}
	analysis_diff_lasts_free(&lasts);
	return status;
}

/* Sorts the items; new and gone items by their last executions. */
static int sort_items(struct analysis_diff *diff, struct analysis_diff_counts *counts)
{
	int status = 0;

	for (size_t i = 0; i < counts->count; i++)
		counts->items[i].time_left = counts->items[i].instructions_left = UINT64_MAX;
	for (uint32_t i = 0; !status && i < diff->count; i++)
		status = find_lasts(diff, i, counts);
	if (!status && counts->count)
		qsort_r(counts->items, counts->count, sizeof(*counts->items), by_distance, diff);
	return status;
}

int analysis_diff_count(struct analysis_diff *diff, struct analysis_diff_counts *counts)
{
	struct counting counting = {.diff = diff};
	int status = 0;

	*counts = (struct analysis_diff_counts){0};
	for (uint32_t i = 0; !status && i < diff->count; i++)
		status = count_run(&counting, i);
	for (uint32_t i = 0; !status && diff->slower && i < diff->count; i++)
		status = time_run(&counting, i);
	if (!status)
		compare_items(&counting, counts);
	if (!status)
		status = sort_items(diff, counts);
	free(counting.items);
	free(counting.counts);
	common_byte_map_free(&counting.by_key);
	common_byte_map_free(&counting.names);
	return status;
}

void analysis_diff_counts_free(struct analysis_diff_counts *counts)
{
	free(counts->items);
	*counts = (struct analysis_diff_counts){0};
}

const char *analysis_diff_kind_name(unsigned kind)
{
	static const char *const names[ANALYSIS_DIFF_KINDS] = {"function", "block", "edge", "function", "function"};

	return names[kind];
}

const char *analysis_diff_change_name(unsigned change)
{
	static const char *const names[ANALYSIS_DIFF_CHANGES] = {"same",  "new",    "gone",  "more",
								 "fewer", "slower", "faster"};

	return names[change];
}
