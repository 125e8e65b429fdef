/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps records in memory, packs them, and moves many of them to a file. */
#include "analysis/call/call_record.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/call/call_pack.h"
#include "common/error.h"
#include "common/file.h"
#include "common/partition.h"
#include "common/vector.h"

#define RECORD sizeof(struct analysis_call_record)
#define KEPT sizeof(struct analysis_kept_record)
#define FIRST 256                            /* records in the first allocation */
#define AT_ONCE (((size_t)1 << 20) / RECORD) /* records packed together, while they are in the processor's cache */
/* bytes of packed records and of kept records in memory; more go to a file */
#define IN_MEMORY ((size_t)16 << 20)
#define WRITE ((size_t)1 << 20)  /* bytes per write to the file */
#define WINDOW ((size_t)8 << 20) /* bytes of the mapped file kept in memory behind the reading position */

void analysis_record_list_free(struct analysis_record_list *list)
{
	if (list->map)
		munmap(list->map, list->map_size);
	if (list->has_file)
		close(list->fd);
	if (!list->mapped)
		free(list->records);
	if (list->kept_map_size)
		munmap(list->kept, list->kept_map_size);
	else
		free(list->kept);
	free(list->active);
	free(list->bytes);
	*list = (struct analysis_record_list){0};
}

/* ---- files --------------------------------------------------------------------------------------- */

/*
 * Maps memory in a temporary file. Allocates disk space at once: a full disk is then an error here, not a signal at a
 * later access.
 */
static int map_room(size_t size, void **map)
{
	int fd, error, status = common_open_temporary(&fd);

	if (status < 0)
		return status;
	error = posix_fallocate(fd, 0, (off_t)size);
	if (error)
		status = common_fail(PTL_SYSTEM, "no room for %zu bytes of calls in a temporary file: %s", size,
				     strerror(error));
	*map = status == 0 ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
	close(fd);
	if (status == 0 && *map == MAP_FAILED)
		status = common_fail_memory("calls", size);
	return status;
}

/* Makes room for one more kept record. */
static int grow_kept(struct analysis_record_list *list)
{
	const size_t size = 2 * list->kept_capacity * KEPT;
	void *map;
	int status;

	if (size < IN_MEMORY)
		return COMMON_VECTOR_RESERVE(list->kept, list->kept_capacity, list->kept_count + 1, "calls");
	status = map_room(size, &map);
	if (status < 0)
		return status;
	memcpy(map, list->kept, list->kept_count * KEPT);
	if (list->kept_map_size)
		munmap(list->kept, list->kept_map_size);
	else
		free(list->kept);
	list->kept = map;
	list->kept_capacity *= 2;
	list->kept_map_size = size;
	return 0;
}

/* Moves packed records to the file. */
static int write_bytes(struct analysis_record_list *list)
{
	int status = list->has_file ? 0 : common_open_temporary(&list->fd);

	if (status < 0)
		return status;
	list->has_file = true;
	status = common_write_temporary(list->fd, list->bytes, list->byte_count, list->filed);
	list->filed += list->byte_count;
	list->byte_count = 0;
	return status;
}

/* ---- packing ------------------------------------------------------------------------------------- */

static bool goes_on(const struct analysis_call_record *record)
{
	return record->kind == ANALYSIS_RECORD_CALL && !record->end;
}

/* Finds a kept record that may still change; NULL: none has this index. */
static struct analysis_kept_record *find_active(const struct analysis_record_list *list, size_t index)
{
	const size_t at = COMMON_PARTITION(list->active_count, i, list->kept[list->active[i]].index < index);
	struct analysis_kept_record *kept = at < list->active_count ? &list->kept[list->active[at]] : NULL;

	return kept && kept->index == index ? kept : NULL;
}

struct analysis_call_record *analysis_record_list_find(const struct analysis_record_list *list, size_t index)
{
	struct analysis_kept_record *kept = find_active(list, index);
	size_t at;

	if (kept)
		return &kept->record;
	at = COMMON_PARTITION(list->kept_count, i, list->kept[i].index < index);
	return at < list->kept_count && list->kept[at].index == index ? &list->kept[at].record : NULL;
}

/*
 * Drops records that can no longer change from `active`. Marks records that must be kept in the next packing: last
 * calls of unfinished calls.
 */
static void choose_active(struct analysis_record_list *list, uint8_t *marks)
{
	size_t count = 0;

	for (size_t i = 0; i < list->active_count; i++) {
		const struct analysis_call_record *record = &list->kept[list->active[i]].record;
		struct analysis_kept_record *last;

		if (!goes_on(record) || !record->last)
			continue;
		if (record->last >= list->packed) {
			marks[record->last - list->packed] = 1;
			continue;
		}
		last = find_active(list, record->last);
		if (last)
			last->needed = true;
	}
	for (size_t i = 0; i < list->active_count; i++) {
		struct analysis_kept_record *kept = &list->kept[list->active[i]];

		if (goes_on(&kept->record) || kept->needed)
			list->active[count++] = list->active[i];
		kept->needed = false;
	}
	list->active_count = count;
}

static int keep_record(struct analysis_record_list *list, const struct analysis_call_record *record, size_t index)
{
	int status = list->kept_count < list->kept_capacity ? 0 : grow_kept(list);

	if (status == 0)
		status = COMMON_VECTOR_RESERVE(list->active, list->active_capacity, list->active_count + 1, "calls");
	if (status < 0)
		return status;
	list->kept[list->kept_count] = (struct analysis_kept_record){
		.record = *record, .index = index, .at = list->filed + list->byte_count, .before = list->before};
	list->active[list->active_count++] = list->kept_count++;
	return 0;
}

/*
 * Packs all records but the last, which its creator may still change. marks: a zero byte per record. A call precedes
 * its callees, so the marks are complete when a record is reached.
 */
static int pack_records(struct analysis_record_list *list, uint8_t *marks)
{
	const size_t count = list->count - list->packed - 1;
	const struct analysis_call_record *before = list->packed ? analysis_record_list_find(list, list->packed - 1)
								 : NULL;
	uint8_t *at;
	int status = COMMON_VECTOR_RESERVE(list->bytes, list->byte_capacity,
					   list->byte_count + (count + 1) * ANALYSIS_PACKED_MAX, "calls");

	if (status < 0)
		return status;
	/* The last record of the previous packing may have changed since. */
	if (before)
		list->before = analysis_packed_after(before);
	choose_active(list, marks);
	for (size_t i = 0; status == 0 && i < count; i++) {
		const struct analysis_call_record *record = &list->records[i];

		if (goes_on(record) || marks[i] || (record->kind == ANALYSIS_RECORD_STACK && goes_on(record + 1))) {
			status = keep_record(list, record, list->packed + i);
			if (goes_on(record) && record->last > list->packed)
				marks[record->last - list->packed] = 1;
		} else {
			at = analysis_record_pack(list->bytes + list->byte_count, &list->before, record,
						  list->packed + i);
			list->byte_count = (size_t)(at - list->bytes);
		}
		list->before = analysis_packed_after(record);
	}
	list->records[0] = list->records[count];
	list->packed += count;
	return status;
}

static int pack(struct analysis_record_list *list)
{
	uint8_t *marks = calloc(list->count - list->packed, 1);
	int status = marks ? pack_records(list, marks) : common_fail_memory("calls", list->capacity);

	free(marks);
	if (status == 0 && list->byte_count >= (list->has_file ? WRITE : IN_MEMORY))
		status = write_bytes(list);
	return status;
}

/*
 * Makes room for a record by packing or by a larger array. If many records may still change, the array grows beyond
 * AT_ONCE: each packing visits all of these.
 */
static __attribute__((noinline)) int make_record_room(struct analysis_record_list *list)
{
	const size_t most = list->active_count > AT_ONCE ? list->active_count : AT_ONCE;
	const size_t capacity = list->capacity ? 2 * list->capacity : FIRST;
	struct analysis_call_record *records;

	if (list->capacity >= most)
		return pack(list);
	records = realloc(list->records, capacity * RECORD);
	if (!records)
		return common_fail_memory("calls", capacity * RECORD);
	list->records = records;
	list->capacity = capacity;
	return 0;
}

struct analysis_call_record *analysis_record_list_add(struct analysis_record_list *list)
{
	if (list->count - list->packed == list->capacity && make_record_room(list) < 0)
		return NULL;
	return &list->records[list->count++ - list->packed];
}

void analysis_record_list_cut(struct analysis_record_list *list, size_t index)
{
	const struct analysis_kept_record *kept;

	list->count = index;
	if (index >= list->packed)
		return;
	kept = find_active(list, index);
	list->packed = index;
	list->before = kept->before;
	list->byte_count = kept->at > list->filed ? (size_t)(kept->at - list->filed) : 0;
	if (kept->at < list->filed)
		list->filed = kept->at;
	list->kept_count = (size_t)(kept - list->kept);
	while (list->active_count && list->active[list->active_count - 1] >= list->kept_count)
		list->active_count--;
}

/* ---- reading ------------------------------------------------------------------------------------- */

int analysis_record_list_complete(struct analysis_record_list *list)
{
	void *map;
	int status;

	if (!list->has_file)
		return 0;
	/* Unpacking touches bytes after the last record. */
	memset(list->bytes + list->byte_count, 0, ANALYSIS_PACKED_MAX);
	list->byte_count += ANALYSIS_PACKED_MAX;
	status = write_bytes(list);
	if (status < 0)
		return status;
	map = mmap(NULL, list->filed, PROT_READ, MAP_SHARED, list->fd, 0);
	if (map == MAP_FAILED)
		return common_fail_memory("calls", list->filed);
	list->map = map;
	list->map_size = list->filed;
	return 0;
}

/* Drops pages of the mapped file that were read: they can be read again from the file. */
static void pass_pages(struct analysis_record_reader *reader)
{
	const uint64_t end = (reader->at - WINDOW) & ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);

	(void)madvise(reader->list->map + reader->passed, end - reader->passed, MADV_DONTNEED);
	reader->passed = end;
}

const struct analysis_call_record *analysis_record_next(struct analysis_record_reader *reader)
{
	const struct analysis_record_list *list = reader->list;
	const size_t index = reader->index;
	const uint8_t *bytes = list->map ? list->map : list->bytes;
	const struct analysis_call_record *record = &reader->record;

	if (index >= list->count)
		return NULL;
	reader->index++;
	if (index >= list->packed)
		return &list->records[index - list->packed];
	if (reader->kept < list->kept_count && list->kept[reader->kept].index == index)
		record = &list->kept[reader->kept++].record;
	else
		reader->at = (uint64_t)(analysis_record_unpack(bytes + reader->at, &reader->before, index,
							       &reader->record) -
					bytes);
	reader->before = analysis_packed_after(record);
	if (__builtin_expect(list->map && reader->at >= reader->passed + 2 * WINDOW, 0))
		pass_pages(reader);
	return record;
}

int analysis_record_list_expand(struct analysis_record_list *list, bool in_file)
{
	struct analysis_record_reader reader = {.list = list};
	struct analysis_record_list all = {.count = list->count, .mapped = true};
	const struct analysis_call_record *record;
	void *map;
	int status;

	if (!list->count || (!list->packed && !in_file))
		return 0;
	status = map_room(list->count * RECORD, &map);
	if (status < 0)
		return status;
	all.map = map;
	all.map_size = list->count * RECORD;
	all.records = map;
	while ((record = analysis_record_next(&reader)) != NULL)
		all.records[reader.index - 1] = *record;
	analysis_record_list_free(list);
	*list = all;
	return 0;
}
