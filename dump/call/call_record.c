/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps records in memory, and in a file where they are many. */
#include "dump/call/call_record.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"

#define RECORD sizeof(struct dump_call_record)
#define IN_MEMORY (((size_t)48 << 20) / RECORD) /* records; more go to a file, */
#define AT_ONCE (((size_t)1 << 20) / RECORD)    /* so many at a time, which are still in a cache then */
#define FILE_STEP ((size_t)64 << 20)            /* bytes by which the file and its map grow */
#define WINDOW ((size_t)8 << 20)                /* bytes of a file that stay in memory behind the place at hand */

void dump_record_list_free(struct dump_record_list *list)
{
	if (list->map) {
		munmap(list->map, list->map_size);
		close(list->fd);
	}
	if (!list->mapped)
		free(list->records);
	*list = (struct dump_record_list){0};
}

/* Pages remain the file's: what is touched again comes back. */
void dump_record_list_pass(const struct dump_record_list *list, size_t index, size_t *passed)
{
	size_t end = index * RECORD;

	if (!list->mapped || end < *passed + 2 * WINDOW)
		return;
	end = (end - WINDOW) & ~((size_t)sysconf(_SC_PAGESIZE) - 1);
	(void)madvise(list->map + *passed, end - *passed, MADV_DONTNEED);
	*passed = end;
}

/* Makes the file and its map larger. A full disk is reported here, and not by a signal when a record there is changed. */
static int grow_file(struct dump_record_list *list, size_t size)
{
	const int error = posix_fallocate(list->fd, 0, (off_t)size);
	void *map;

	if (error)
		return common_fail(PTL_SYSTEM, "no room for %zu bytes of calls in a temporary file: %s", size,
				   strerror(error));
	map = list->map ? mremap(list->map, list->map_size, size, MREMAP_MAYMOVE)
			: mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, list->fd, 0);
	if (map == MAP_FAILED)
		return common_fail_memory("calls", size);
	list->map = map;
	list->map_size = size;
	return 0;
}

/* Room in the file for all records. */
static int prepare_file(struct dump_record_list *list)
{
	const size_t size = list->count * RECORD;
	const bool first = !list->map;
	int status = first ? common_open_temporary(&list->fd) : 0;

	if (status == 0 && size > list->map_size) {
		status = grow_file(list, size + FILE_STEP);
		if (status < 0 && first)
			close(list->fd);
	}
	return status;
}

/* What is in memory is written, not copied to the map, since the system would clear each page of that before. */
static int write_records(struct dump_record_list *list)
{
	int status = prepare_file(list);

	if (status == 0)
		status = common_write_temporary(list->fd, (const uint8_t *)list->records,
						(list->count - list->filed) * RECORD, list->filed * RECORD);
	if (status < 0)
		return status;
	/* Records of calls that ended were changed there. */
	if (list->filed)
		(void)madvise(list->map, list->filed * RECORD, MADV_DONTNEED);
	list->filed = list->count;
	return 0;
}

static int resize(struct dump_record_list *list, size_t capacity)
{
	struct dump_call_record *records = realloc(list->records, capacity * RECORD);

	if (!records)
		return common_fail_memory("calls", capacity * RECORD);
	list->records = records;
	list->capacity = capacity;
	return 0;
}

static __attribute__((noinline)) int make_room(struct dump_record_list *list)
{
	int status;

	if (!list->filed && list->capacity < IN_MEMORY)
		return resize(list,
			      list->capacity < IN_MEMORY / 2 ? (list->capacity ? 2 * list->capacity : 256) : IN_MEMORY);
	status = write_records(list);
	return status == 0 && list->capacity > AT_ONCE ? resize(list, AT_ONCE) : status;
}

struct dump_call_record *dump_record_list_add(struct dump_record_list *list)
{
	if (list->count - list->filed == list->capacity && make_room(list) < 0)
		return NULL;
	return &list->records[list->count++ - list->filed];
}

void dump_record_list_cut(struct dump_record_list *list, size_t index)
{
	list->count = index;
	if (list->filed > index)
		list->filed = index;
}

int dump_record_list_complete(struct dump_record_list *list, bool in_file)
{
	int status;

	if (list->mapped || !list->count || (!list->map && !in_file))
		return 0;
	status = write_records(list);
	if (status < 0)
		return status;
	free(list->records);
	list->records = (struct dump_call_record *)(void *)list->map;
	list->mapped = true;
	return 0;
}
