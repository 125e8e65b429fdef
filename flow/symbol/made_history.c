/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps the code events of requested pages, and compares the bytes. */
#include "flow/symbol/made_history.h"

#include <stdlib.h>
#include <string.h>

#include <ptl/kernel.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/hash.h"
#include "common/vector.h"
#include "format/event/kernel_class.h"

#define PAGE_BITS 12
#define NO_BLOB ((uint8_t *)-1)
#define BLOBS_MAX ((uint64_t)1 << 29) /* bytes of code in memory */
#define EFFORT_MAX ((uint64_t)1 << 31)
#define RANGE_MAX ((uint64_t)1 << 20) /* bytes of a function that are compared */

/* Code that was written, or memory that was mapped. */
struct flow_made_write {
	uint64_t time;
	uint64_t base;
	uint64_t size;
	bool maps; /* the memory was mapped again: earlier bytes are gone */
	bool has_code;
	uint8_t hash[PTL_HASH_SIZE];
	uint8_t *bytes; /* owned; NULL: not read yet; NO_BLOB */
	size_t byte_count;
};

/* A write to a page. */
struct flow_made_page {
	size_t write;
	size_t before; /* index of the previous write of the page, plus 1; 0: no previous write */
};

/* Makes the key of a page. A collision only adds writes to compare. */
static uint64_t key_of(uint32_t pid, uint64_t page)
{
	return common_hash_mix(pid) ^ page;
}

int flow_made_history_want(struct flow_made_history *history, uint32_t pid, uint64_t first, uint64_t last)
{
	int status = 0;

	if (last - first >= RANGE_MAX)
		last = first + (RANGE_MAX - 1);
	for (uint64_t page = first >> PAGE_BITS; !status && page <= last >> PAGE_BITS; page++)
		if (!common_hash_map_get(&history->pages, key_of(pid, page)))
			status = common_hash_map_put(&history->pages, key_of(pid, page), 0);
	return status;
}

/* ---- writes -------------------------------------------------------------------------------------- */

static int add_to_page(struct flow_made_history *history, uint64_t *newest)
{
	if (COMMON_VECTOR_RESERVE(history->list, history->list_capacity, history->list_count + 1, "changes of code"))
		return PTL_NO_MEMORY;
	history->list[history->list_count] = (struct flow_made_page){.write = history->write_count,
								     .before = (size_t)*newest};
	*newest = ++history->list_count;
	return 0;
}

static int add_write(struct flow_made_history *history, uint32_t pid, const struct flow_made_write *write)
{
	const uint64_t last = write->base + (write->size - 1);
	const size_t count = history->list_count;
	int status = 0;

	if (!format_is_range(write->base, write->size) || last - write->base > (uint64_t)1 << 32)
		return 0;
	for (uint64_t page = write->base >> PAGE_BITS; !status && page <= last >> PAGE_BITS; page++) {
		uint64_t *newest = common_hash_map_get(&history->pages, key_of(pid, page));

		if (newest)
			status = add_to_page(history, newest);
	}
	if (status || history->list_count == count)
		return status;
	if (COMMON_VECTOR_RESERVE(history->writes, history->write_capacity, history->write_count + 1,
				  "changes of code"))
		return PTL_NO_MEMORY;
	history->writes[history->write_count++] = *write;
	return 0;
}

static int take_image(struct flow_made_history *history, const struct ptl_event *event)
{
	struct ptl_bytes storage = {0};
	struct ptl_image_event image;
	struct flow_made_write write = {.time = event->time, .maps = true};
	int status = 0;

	if (event->descriptor.opcode != PTL_OPCODE_UNLOAD && event->descriptor.opcode != PTL_OPCODE_PROTECT &&
	    event->descriptor.opcode != PTL_OPCODE_END_RUNDOWN && !ptl_image_decode(event, &storage, &image)) {
		write.base = image.base;
		write.size = image.size;
		write.has_code = image.has_code;
		if (image.has_code)
			memcpy(write.hash, image.code, sizeof(write.hash));
		status = add_write(history, image.process_id, &write);
	}
	common_bytes_free(&storage);
	return status;
}

static int take_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct flow_made_history *history = context;
	const enum format_class class = format_class_of(&event->descriptor);
	struct flow_made_write write = {.time = event->time, .has_code = true};
	struct ptl_code_event code;

	(void)trace;
	if (class == FORMAT_CLASS_IMAGE)
		return take_image(history, event);
	if (class != FORMAT_CLASS_CODE || ptl_code_decode(event, &code))
		return 0;
	write.base = code.base;
	write.size = code.size;
	memcpy(write.hash, code.code, sizeof(write.hash));
	return add_write(history, code.process_id, &write);
}

int flow_made_history_read(struct flow_made_history *history)
{
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = take_event};

	return history->pages.used ? ptl_process(history->trace, NULL, &callbacks, history) : 0;
}

void flow_made_history_free(struct flow_made_history *history)
{
	for (size_t i = 0; i < history->write_count; i++)
		if (history->writes[i].bytes != NO_BLOB)
			free(history->writes[i].bytes);
	free(history->writes);
	free(history->list);
	common_hash_map_free(&history->pages);
}

/* ---- changes ------------------------------------------------------------------------------------- */

/* Bytes of memory, if known. */
struct known {
	uint64_t first;
	size_t size;
	uint8_t *bytes;
	bool *is_known;
};

static void read_bytes(struct flow_made_history *history, struct flow_made_write *write)
{
	if (write->bytes)
		return;
	if (!write->has_code || write->size > BLOBS_MAX - history->bytes ||
	    ptl_blob_read(history->trace, write->hash, (size_t)(BLOBS_MAX - history->bytes), &write->bytes,
			  &write->byte_count) < 0) {
		write->bytes = NO_BLOB;
		return;
	}
	history->bytes += write->byte_count;
}

/*
 * Applies a write, and returns the number of changed known bytes. A new mapping of known memory changes at least 1 byte.
 * A write whose bytes are missing in the trace counts as 1 byte.
 */
static uint64_t apply(struct flow_made_history *history, struct flow_made_write *write, struct known *known)
{
	const uint64_t skip = known->first > write->base ? known->first - write->base : 0;
	const uint64_t at = write->base > known->first ? write->base - known->first : 0;
	uint64_t size, differ = 0;

	if (skip >= write->size || at >= known->size)
		return 0;
	size = write->size - skip < known->size - at ? write->size - skip : known->size - at;
	if (write->maps) {
		differ = memchr(known->is_known + at, true, size) != NULL;
		memset(known->is_known + at, 0, size);
	}
	read_bytes(history, write);
	if (write->bytes == NO_BLOB)
		return write->maps ? differ : 1;
	history->effort += size;
	for (uint64_t i = 0; i < size && skip + i < write->byte_count; i++) {
		differ += known->is_known[at + i] && known->bytes[at + i] != write->bytes[skip + i];
		known->bytes[at + i] = write->bytes[skip + i];
		known->is_known[at + i] = true;
	}
	return differ;
}

static int by_number(const void *left, const void *right)
{
	const size_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* Lists the writes to the pages of a range, in order of events. */
static int list_writes(struct flow_made_history *history, uint32_t pid, uint64_t first, uint64_t last, size_t **list,
		       size_t *count)
{
	size_t capacity = 0;

	*list = NULL;
	*count = 0;
	for (uint64_t page = first >> PAGE_BITS; page <= last >> PAGE_BITS; page++) {
		const uint64_t *newest = common_hash_map_get(&history->pages, key_of(pid, page));

		for (size_t i = newest ? (size_t)*newest : 0; i; i = history->list[i - 1].before) {
			if (COMMON_VECTOR_RESERVE(*list, capacity, *count + 1, "changes of code"))
				return PTL_NO_MEMORY;
			(*list)[(*count)++] = history->list[i - 1].write;
			history->effort++;
		}
	}
	if (*count)
		qsort(*list, *count, sizeof(**list), by_number);
	return 0;
}

static int add_change(struct flow_made_time **changes, size_t *count, size_t *capacity, uint64_t time, uint64_t bytes)
{
	if (*count && (*changes)[*count - 1].time == time) {
		(*changes)[*count - 1].bytes += bytes;
		return 0;
	}
	if (COMMON_VECTOR_RESERVE(*changes, *capacity, *count + 1, "changes of code"))
		return PTL_NO_MEMORY;
	(*changes)[(*count)++] = (struct flow_made_time){time, bytes};
	return 0;
}

int flow_made_history_changes(struct flow_made_history *history, uint32_t pid, uint64_t first, uint64_t last,
			      struct flow_made_time **changes, size_t *count, bool *known)
{
	struct known bytes = {.first = first};
	size_t *list = NULL, writes = 0, capacity = 0;
	int status = 0;

	*changes = NULL;
	*count = 0;
	*known = false;
	if (history->effort > EFFORT_MAX)
		return 0;
	if (last - first >= RANGE_MAX)
		last = first + (RANGE_MAX - 1);
	bytes.size = (size_t)(last - first + 1);
	bytes.bytes = calloc(bytes.size, 1);
	bytes.is_known = calloc(bytes.size, sizeof(*bytes.is_known));
	status = bytes.bytes && bytes.is_known ? list_writes(history, pid, first, last, &list, &writes)
					       : common_fail_memory("code", bytes.size);
	for (size_t i = 0; !status && i < writes; i++) {
		struct flow_made_write *write = &history->writes[list[i]];
		uint64_t differ;

		/* A write to several pages is listed once for each page. */
		if (i && list[i] == list[i - 1])
			continue;
		differ = apply(history, write, &bytes);
		*known |= !write->maps && write->base <= last && write->base + (write->size - 1) >= first;
		if (differ)
			status = add_change(changes, count, &capacity, write->time, differ);
	}
	free(list);
	free(bytes.bytes);
	free(bytes.is_known);
	return status;
}
