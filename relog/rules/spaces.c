/* SPDX-License-Identifier: BSD-2-Clause */
/* Loaded images of rules, by process. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "relog/rules/images.h"

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
	while (space->live) {
		struct rules_live *next = space->live->next;

		free_live(space->live);
		space->live = next;
	}
	free(space->mapped);
	rules_backing_remove(space, 0, UINT64_MAX);
	free(space->turn);
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

struct rules_live *rules_live_find(const struct rules_space *space, uint64_t first, uint64_t last)
{
	struct rules_live *found = NULL;

	for (struct rules_live *live = space ? space->live : NULL; live; live = live->next)
		if (live->first <= last && live->last >= first && (!found || live->first < found->first))
			found = live;
	return found;
}

static int add_live(struct rules_space *space, const struct rules_live *live)
{
	struct rules_live *copy = malloc(sizeof(*copy));

	if (!copy)
		return common_fail_memory("images", sizeof(*copy));
	*copy = *live;
	copy->data.file_name = strdup(live->data.file_name);
	if (!copy->data.file_name) {
		free(copy);
		return common_fail_memory("images", 0);
	}
	copy->next = space->live;
	space->live = copy;
	return 0;
}

int rules_live_add(struct rules_space *space, const struct ptl_image_event *data, uint64_t image_base,
		   struct query_place at)
{
	const struct rules_live live = {
		.first = data->base,
		.last = data->base + (data->size - 1),
		.image_base = image_base,
		.data = *data,
		.at = at,
	};
	int status = rules_live_remove(space, live.first, live.last);

	return status < 0 ? status : add_live(space, &live);
}

int rules_live_remove(struct rules_space *space, uint64_t first, uint64_t last)
{
	struct rules_live **place = &space->live;

	while (*place) {
		struct rules_live *live = *place;

		if (live->first > last || live->last < first) {
			place = &live->next;
		} else if (live->first < first && live->last > last) {
			struct rules_live behind = *live;
			int status;

			behind.first = last + 1;
			live->last = first - 1;
			status = add_live(space, &behind);
			if (status < 0)
				return status;
			place = &live->next;
		} else if (live->first < first) {
			live->last = first - 1;
			place = &live->next;
		} else if (live->last > last) {
			live->first = last + 1;
			place = &live->next;
		} else {
			*place = live->next;
			free_live(live);
		}
	}
	return 0;
}

void rules_spaces_free(struct rules_images *images)
{
	uint64_t key, value;
	size_t at = 0;

	while (common_hash_map_next(&images->spaces, &at, &key, &value))
		free_space((struct rules_space *)(uintptr_t)value);
	common_hash_map_free(&images->spaces);
}
