/* SPDX-License-Identifier: BSD-2-Clause */
/* What code a process has mapped, by comparing one look at it with the next. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/error.h"
#include "common/partition.h"
#include "common/vector.h"
#include "record/kernel/observer_state.h"
#include "record/process/maps.h"

#define MAPS_MAX 65536 /* executable mappings of a process that are reported */

static bool is_same(const struct record_observed_map *a, const struct record_observed_map *b)
{
	return a->base == b->base && a->size == b->size && a->file_offset == b->file_offset && a->device == b->device &&
	       a->inode == b->inode && a->protection == b->protection;
}

/* maps are in order of their bases, as the kernel shows them. */
static const struct record_observed_map *find_at(const struct record_observed_map *maps, size_t count, uint64_t base)
{
	const size_t low = COMMON_PARTITION(count, at, maps[at].base + maps[at].size <= base);

	return low < count ? &maps[low] : NULL;
}

/* Whether something of maps lies in the range. */
static bool overlaps(const struct record_observed_map *maps, size_t count, const struct record_observed_map *range)
{
	const struct record_observed_map *found = find_at(maps, count, range->base);

	return found && found->base < range->base + range->size;
}

int record_observer_send_load(struct record_observer *observer, struct record_observed *process,
			      const struct record_observed_map *map, const struct record_map_entry *entry)
{
	const struct record_mapping mapping = {
		.pid = process->pid,
		.base = map->base,
		.size = map->size,
		.file_offset = map->file_offset,
		.device = map->device,
		.inode = map->inode,
		.protection = map->protection,
		.anonymous = !map->inode,
		.deleted = entry->deleted,
		.path = entry->path,
		.path_length = strlen(entry->path),
	};
	struct record_fact fact = record_observer_fact(process, RECORD_FACT_IMAGE_MAP, process->maps_looked);
	struct ptl_image_event image;
	int status = record_image_store_add(observer->capture->images, &mapping, &image);

	if (status == 0)
		status = record_observer_read_code(observer, process, map, entry->deleted, &image);
	fact.rundown = process->found && !process->maps_reported;
	fact.epoch = ++process->epoch;
	fact.image = &image;
	return status < 0 ? status : record_observer_send(observer, &fact);
}

static int send_unload(struct record_observer *observer, struct record_observed *process,
		       const struct record_observed_map *map, uint64_t now)
{
	struct record_fact fact = record_observer_fact(process, RECORD_FACT_IMAGE_UNMAP, now);

	fact.epoch = ++process->epoch;
	fact.range.base = map->base;
	fact.range.size = map->size;
	return record_observer_send(observer, &fact);
}

static int append(struct record_observed_map **maps, size_t *count, size_t *capacity,
		  const struct record_observed_map *map)
{
	if (COMMON_VECTOR_RESERVE(*maps, *capacity, *count + 1, "mappings"))
		return PTL_NO_MEMORY;
	(*maps)[(*count)++] = *map;
	return 0;
}

int record_observer_note_map(struct record_observed *process, const struct record_observed_map *map)
{
	const struct record_observed_map *found = find_at(process->maps, process->map_count, map->base);
	size_t at = found ? (size_t)(found - process->maps) : process->map_count, end = at;
	int status;

	if (found && is_same(found, map))
		return 0;
	while (end < process->map_count && process->maps[end].base < map->base + map->size)
		end++;
	/* Its place is made by one that is added at the end, and moved there. */
	status = append(&process->maps, &process->map_count, &process->map_capacity, map);
	if (status < 0)
		return status;
	memmove(process->maps + at + 1, process->maps + end, (process->map_count - 1 - end) * sizeof(*process->maps));
	process->maps[at] = *map;
	process->map_count -= end - at;
	return 1;
}

static struct record_observed_map map_of(const struct record_map_entry *entry)
{
	return (struct record_observed_map){
		.base = entry->base,
		.size = entry->end - entry->base,
		.file_offset = entry->file_offset,
		.device = entry->device,
		.inode = entry->inode,
		.protection = (uint32_t)(PROT_READ | PROT_EXEC | (entry->writable ? PROT_WRITE : 0)),
	};
}

/* One line of the file. Kernel addresses (vsyscall) are nobody's. */
static int take(struct record_observer *observer, struct record_observed *process, struct record_map_entry *entry,
		struct record_observed_map **maps, size_t *count, size_t *capacity, uint64_t now)
{
	const struct record_observed_map map = map_of(entry);
	const struct record_observed_map *before;
	char root[64];
	int status;

	if (!entry->executable || entry->end <= entry->base || entry->base >> 63)
		return 0;
	status = append(maps, count, capacity, &map);
	before = find_at(process->maps, process->map_count, map.base);
	if (status < 0)
		return status;
	if (before && is_same(before, &map))
		return record_observer_read_again(observer, process, &map, entry->deleted, now);
	snprintf(root, sizeof(root), "/proc/%u/root", process->pid);
	record_maps_check(root, entry);
	/* The look for what is new compares what the kernel shows, the trace has what stat shows. */
	return record_observer_send_load(observer, process,
					 &(struct record_observed_map){map.base, map.size, map.file_offset,
								       entry->device, map.inode, map.protection},
					 entry);
}

int record_observer_look_at_maps(struct record_observer *observer, struct record_observed *process, uint64_t now)
{
	char name[64], line[RECORD_PATH_SIZE + 128];
	struct record_observed_map *maps = NULL;
	size_t count = 0, capacity = 0;
	struct record_map_entry entry;
	int status = 0;
	FILE *file;

	/* What the program maps is about to be reported, and names it. */
	if (process->executed.pending)
		return 0;
	snprintf(name, sizeof(name), "/proc/%u/maps", process->pid);
	file = fopen(name, "re");
	if (!file)
		return 0;
	while (status == 0 && count < MAPS_MAX && fgets(line, sizeof(line), file))
		if (record_maps_parse(line, &entry))
			status = take(observer, process, &entry, &maps, &count, &capacity, now);
	fclose(file);
	/* A process that is just ending shows nothing: that is no unloading. */
	if (status < 0 || !count) {
		free(maps);
		return status;
	}
	/* What another mapping lies over was replaced by it. */
	for (size_t i = 0; status == 0 && i < process->map_count; i++)
		if (!overlaps(maps, count, &process->maps[i]))
			status = send_unload(observer, process, &process->maps[i], now);
	free(process->maps);
	process->maps = maps;
	process->map_count = count;
	process->map_capacity = capacity;
	process->maps_reported = true;
	process->maps_looked = now;
	return status;
}

int record_observer_inherit(struct record_observed *child, const struct record_observed *parent)
{
	child->epoch = parent->epoch;
	child->maps_reported = true;
	if (!parent->map_count)
		return 0;
	child->maps = reallocarray(NULL, parent->map_count, sizeof(*child->maps));
	if (!child->maps)
		return common_fail_memory("mappings", parent->map_count * sizeof(*child->maps));
	memcpy(child->maps, parent->maps, parent->map_count * sizeof(*child->maps));
	child->map_count = child->map_capacity = parent->map_count;
	return 0;
}
