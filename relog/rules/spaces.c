/* SPDX-License-Identifier: BSD-2-Clause */
/* Loaded images of rules, by process. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"
#include "relog/rules/images.h"

#define ENDED_MAX 65536u /* unloaded images of a process; more come from a compiler that reuses its memory */

bool rules_is_nameless(const char *path)
{
	return !*path || !strcmp(path, "//anon");
}

struct rules_space *rules_space_find(const struct rules_run *run, uint32_t pid)
{
	const uint64_t *found = common_hash_map_get(&run->images->spaces, pid);

	return found ? (struct rules_space *)(uintptr_t)*found : NULL;
}

static void free_live(struct rules_live *live)
{
	free((char *)(uintptr_t)live->data.file_name);
	free(live);
}

static void free_space(struct rules_space *space)
{
	for (size_t i = 0; i < space->live_count; i++)
		free_live(space->live[i]);
	free(space->live);
	free(space->mapped);
	rules_backing_remove(space, 0, UINT64_MAX);
	free(space->turn);
	free(space->ended);
	free(space);
}

int rules_space_need(struct rules_run *run, uint32_t pid, struct rules_space **result)
{
	struct rules_images *images = run->images;
	struct rules_space *space = rules_space_find(run, pid);
	int status;

	*result = space;
	if (space)
		return 0;
	space = calloc(1, sizeof(*space));
	if (!space)
		return common_fail_memory("images", sizeof(*space));
	space->pid = pid;
	space->mapped = calloc(images->statement_count + 1, sizeof(*space->mapped));
	space->turn = calloc(images->statement_count + 1, sizeof(*space->turn));
	status = space->mapped && space->turn ? common_hash_map_put(&images->spaces, pid, (uintptr_t)space)
					      : common_fail_memory("images", images->statement_count);
	if (status < 0) {
		free_space(space);
		return status;
	}
	*result = space;
	return 0;
}

size_t rules_live_index(const struct rules_space *space, uint64_t address)
{
	size_t low = 0, high = space->live_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (space->live[middle]->last < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct rules_live *rules_live_find(const struct rules_space *space, uint64_t first, uint64_t last)
{
	const size_t at = space ? rules_live_index(space, first) : 0;

	return space && at < space->live_count && space->live[at]->first <= last ? space->live[at] : NULL;
}

/* Adds a part; none overlaps. */
static int add_live(struct rules_space *space, const struct rules_live *live)
{
	const size_t at = rules_live_index(space, live->first);
	struct rules_live *copy;

	if (COMMON_VECTOR_RESERVE(space->live, space->live_room, space->live_count + 1, "images"))
		return PTL_NO_MEMORY;
	copy = malloc(sizeof(*copy));
	if (!copy)
		return common_fail_memory("images", sizeof(*copy));
	*copy = *live;
	copy->data.file_name = strdup(live->data.file_name);
	if (!copy->data.file_name) {
		free(copy);
		return common_fail_memory("images", 0);
	}
	memmove(space->live + at + 1, space->live + at, (space->live_count - at) * sizeof(*space->live));
	space->live[at] = copy;
	space->live_count++;
	return 0;
}

int rules_live_add(struct rules_space *space, const struct ptl_image_event *data, const struct rules_spec *spec)
{
	const struct rules_live live = {
		.first = data->base,
		.last = data->base + (data->size - 1),
		.image_base = spec->base,
		.image_size = spec->size,
		.data = *data,
		.at = spec->at,
	};
	int status = rules_live_remove(space, live.first, live.last);

	return status < 0 ? status : add_live(space, &live);
}

int rules_ended_add(struct rules_space *space, uint64_t first, uint64_t last, uint64_t time)
{
	if (space->ended_count == ENDED_MAX)
		return 0;
	if (!common_vector_room(&space->ended, space->ended_count, sizeof(*space->ended)))
		return common_fail_memory("images", (space->ended_count + 1) * sizeof(*space->ended));
	space->ended[space->ended_count++] = (struct rules_ended){first, last, time};
	return 0;
}

uint64_t rules_ended_last(const struct rules_space *space, uint64_t first, uint64_t last)
{
	if (space->ended_count == ENDED_MAX)
		return UINT64_MAX;
	for (size_t i = space->ended_count; i-- > 0;)
		if (space->ended[i].first <= last && space->ended[i].last >= first)
			return space->ended[i].time;
	return 0;
}

/* Cuts a part that begins before the range, and a part that ends behind the range. */
static int cut_live(struct rules_space *space, size_t at, uint64_t first, uint64_t last)
{
	struct rules_live *live = space->live[at], behind = *live;

	if (live->first < first)
		live->last = first - 1;
	else
		live->first = last + 1;
	behind.first = last + 1;
	return behind.first > last && live->last < first && behind.last > last ? add_live(space, &behind) : 0;
}

int rules_live_remove(struct rules_space *space, uint64_t first, uint64_t last)
{
	size_t at = rules_live_index(space, first), kept;
	int status = 0;

	if (at < space->live_count && space->live[at]->first < first)
		status = cut_live(space, at++, first, last);
	for (kept = at; kept < space->live_count && space->live[kept]->last <= last; kept++)
		free_live(space->live[kept]);
	if (kept > at)
		memmove(space->live + at, space->live + kept, (space->live_count - kept) * sizeof(*space->live));
	space->live_count -= kept - at;
	if (!status && at < space->live_count && space->live[at]->first <= last)
		status = cut_live(space, at, first, last);
	return status;
}

void rules_spaces_free(struct rules_images *images)
{
	uint64_t key, value;
	size_t at = 0;

	while (common_hash_map_next(&images->spaces, &at, &key, &value))
		free_space((struct rules_space *)(uintptr_t)value);
	common_hash_map_free(&images->spaces);
}
