/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds changes of executable mappings between two looks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/error.h"
#include "common/file.h"
#include "common/partition.h"
#include "common/vector.h"
#include "record/observe/observer_state.h"
#include "record/proc/maps.h"

#define MAPS_MAX 65536        /* maximum number of executable mappings of a process */
#define LINES_MAX (64u << 20) /* maximum bytes of a process's maps */

static bool is_same_map(const struct record_observed_map *a, const struct record_observed_map *b)
{
	return a->base == b->base && a->size == b->size && a->file_offset == b->file_offset && a->device == b->device &&
	       a->inode == b->inode && a->protection == b->protection;
}

/* Returns the mapping at or behind `base`; maps are sorted by base. */
static const struct record_observed_map *find_at(const struct record_observed_map *maps, size_t count, uint64_t base)
{
	const size_t low = COMMON_PARTITION(count, at, maps[at].base + maps[at].size <= base);

	return low < count ? &maps[low] : NULL;
}

/* Checks whether a mapping overlaps the range. */
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
		.of_kernel = entry->of_kernel,
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

static int append_map(struct record_observed_map **maps, size_t *count, size_t *capacity,
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

	if (found && is_same_map(found, map))
		return 0;
	while (end < process->map_count && process->maps[end].base < map->base + map->size)
		end++;
	/* Grows the array at the end, and moves the new entry to its place. */
	status = append_map(&process->maps, &process->map_count, &process->map_capacity, map);
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

struct look {
	struct record_observer *observer;
	struct record_observed *process;
	uint64_t now;
	bool known_only; /* leaves new mappings to kernel reports */
	struct record_observed_map *maps;
	size_t count, capacity;
	size_t known; /* number of executable mappings in the lines */
};

/* Checks for executable user memory. The vsyscall page belongs to the kernel. */
static bool is_code(const struct record_map_entry *entry)
{
	return entry->executable && entry->end > entry->base && !(entry->base >> 63);
}

static bool is_known_map(const struct record_observed *process, const struct record_observed_map *map)
{
	const struct record_observed_map *before = find_at(process->maps, process->map_count, map->base);

	return before && is_same_map(before, map);
}

static int take_map_entry(struct look *look, struct record_map_entry *entry)
{
	const struct record_observed_map map = map_of(entry);
	char root[64];
	int status;

	if (is_known_map(look->process, &map)) {
		status = append_map(&look->maps, &look->count, &look->capacity, &map);
		return status < 0 ? status
				  : record_observer_read_again(look->observer, look->process, &map, entry->deleted,
							       look->now);
	}
	if (look->known_only)
		return 0;
	status = append_map(&look->maps, &look->count, &look->capacity, &map);
	if (status < 0)
		return status;
	snprintf(root, sizeof(root), "/proc/%u/root", look->process->pid);
	record_maps_check(root, entry);
	/* Looks compare the device number of /proc; the trace stores the device number of stat. */
	return record_observer_send_load(look->observer, look->process,
					 &(struct record_observed_map){map.base, map.size, map.file_offset,
								       entry->device, map.inode, map.protection},
					 entry);
}

/* The mappings of a process at one time: zero-terminated lines of /proc. */
struct lines {
	char *text; /* owned; NULL if the process does not exist */
	size_t size;
};

static struct lines read_lines(uint32_t pid)
{
	struct lines lines = {0};
	uint8_t *text;
	char name[64];

	snprintf(name, sizeof(name), "/proc/%u/maps", pid);
	if (common_read_file(name, LINES_MAX, &text, &lines.size) < 0)
		return (struct lines){0};
	/* An ending process has no lines. */
	if (!lines.size) {
		free(text);
		return (struct lines){0};
	}
	lines.text = (char *)text;
	for (char *end = lines.text; (end = memchr(end, '\n', lines.size - (size_t)(end - lines.text))); end++)
		*end = 0;
	lines.text[lines.size - 1] = 0;
	return lines;
}

/* Calls visit with each mapping of code, until visit returns a value other than 0. */
static int each_code(const struct lines *lines, struct look *look,
		     int (*visit)(struct look *look, struct record_map_entry *entry))
{
	struct record_map_entry entry;
	size_t count = 0;
	int status = 0;

	for (size_t at = 0; status == 0 && count < MAPS_MAX && at < lines->size; at += strlen(lines->text + at) + 1) {
		if (!record_maps_parse(lines->text + at, &entry) || !is_code(&entry))
			continue;
		count++;
		status = visit(look, &entry);
	}
	return status;
}

/* Counts a mapping. Returns 1 for an unknown mapping. */
static int count_known(struct look *look, struct record_map_entry *entry)
{
	const struct record_observed_map map = map_of(entry);

	look->known++;
	return !is_known_map(look->process, &map);
}

/*
 * Decides whether the look may report new mappings. The look may be ahead of pending reports: a new mapping may belong
 * to a program whose execve is pending, or may be later than a fork whose child would wrongly inherit the mapping. The
 * look then waits for the reports.
 */
static int may_report(struct look *look, const struct lines *lines, bool *ahead)
{
	int status = each_code(lines, look, count_known);
	const bool is_new = status == 1 || look->known != look->process->map_count;

	*ahead = false;
	look->known_only = false;
	if (status < 0 || !is_new || !look->process->reported)
		return status < 0 ? status : 0;
	return record_observer_awaits(look->observer, look->process->pid, ahead, &look->known_only);
}

/* Reports removed mappings, and stores the current mappings. */
static int take_place(struct look *look)
{
	struct record_observed *process = look->process;
	int status = 0;

	/* An overlapping new mapping has replaced an old mapping: no unload is reported. */
	for (size_t i = 0; status == 0 && i < process->map_count; i++)
		if (!overlaps(look->maps, look->count, &process->maps[i]))
			status = send_unload(look->observer, process, &process->maps[i], look->now);
	free(process->maps);
	process->maps = look->maps;
	process->map_count = look->count;
	process->map_capacity = look->capacity;
	process->maps_reported = true;
	process->maps_looked = look->now;
	look->maps = NULL;
	return status;
}

int record_observer_look_at_maps(struct record_observer *observer, struct record_observed *process, uint64_t now)
{
	struct look look = {.observer = observer, .process = process, .now = now};
	struct lines lines;
	bool ahead = false;
	int status;

	/* The kernel is about to report the program's mappings, which name the program. */
	if (process->executed.pending)
		return 0;
	lines = read_lines(process->pid);
	status = lines.text ? may_report(&look, &lines, &ahead) : 0;
	if (status == 0 && lines.text && !ahead)
		status = each_code(&lines, &look, take_map_entry);
	if (status == 0 && (ahead || look.known_only))
		record_observer_look_at_maps_soon(process, now);
	/* An ending process shows no mappings, which is no unload. */
	else if (status == 0 && look.count)
		status = take_place(&look);
	free(look.maps);
	free(lines.text);
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
