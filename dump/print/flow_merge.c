/* SPDX-License-Identifier: BSD-2-Clause */
/* A merge of queues of lines: the one whose next line is earliest writes until another's is earlier. */
#include "dump/print/flow_merge.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "common/vector.h"

/* Lines that follow each other are held as one part up to so many bytes of text. */
#define JOINED_MAX ((size_t)64 << 10)
/* So many bytes of text wait in memory; what comes then waits in a temporary file: a few bytes of packets may be gigabytes. */
#define HELD_MAX ((size_t)64 << 20)
#define READ_SIZE ((size_t)64 << 10)

struct part {
	struct part *next;
	struct dump_flow_lines lines;
	size_t at;   /* next item */
	size_t size; /* bytes of text, also of one that is in the file */
	bool in_file;
	uint64_t place; /* there */
};

/* Of one group, that is stream. A group is in the list only while it has parts. */
struct queue {
	size_t group;
	struct part *first;
	struct part *last;
};

struct dump_flow_merge {
	struct queue *queues; /* in order of group */
	size_t count;
	size_t capacity;
	size_t held; /* bytes of text in memory */
	int file;    /* -1: none yet */
	size_t parts_in_file;
	uint64_t file_end;
	void (*give_back)(void *context, struct ptl_bytes *text);
	void *context;
};

int dump_flow_lines_at(struct dump_flow_lines *lines, uint64_t time)
{
	struct dump_flow_item *last = lines->count ? &lines->items[lines->count - 1] : NULL;

	if (last && time <= last->time)
		return 0;
	if (last && last->start == lines->text.size) {
		last->time = time;
		return 0;
	}
	if (COMMON_VECTOR_RESERVE(lines->items, lines->capacity, lines->count + 1, "lines"))
		return PTL_NO_MEMORY;
	lines->items[lines->count++] = (struct dump_flow_item){time, lines->text.size};
	return 0;
}

void dump_flow_lines_free(struct dump_flow_lines *lines)
{
	common_bytes_free(&lines->text);
	free(lines->items);
	*lines = (struct dump_flow_lines){0};
}

static void free_part(struct part *part)
{
	dump_flow_lines_free(&part->lines);
	free(part);
}

struct dump_flow_merge *dump_flow_merge_new(void (*give_back)(void *context, struct ptl_bytes *text), void *context)
{
	struct dump_flow_merge *merge = calloc(1, sizeof(*merge));

	if (merge) {
		merge->file = -1;
		merge->give_back = give_back;
		merge->context = context;
	}
	return merge;
}

void dump_flow_merge_free(struct dump_flow_merge *merge)
{
	if (!merge)
		return;
	for (size_t i = 0; i < merge->count; i++) {
		struct part *part = merge->queues[i].first;

		while (part) {
			struct part *next = part->next;

			free_part(part);
			part = next;
		}
	}
	if (merge->file >= 0)
		close(merge->file);
	free(merge->queues);
	free(merge);
}

/* The group's queue, made where there is none; NULL without memory. */
static struct queue *queue_of(struct dump_flow_merge *merge, size_t group)
{
	size_t at = 0;

	while (at < merge->count && merge->queues[at].group < group)
		at++;
	if (at < merge->count && merge->queues[at].group == group)
		return &merge->queues[at];
	if (!COMMON_VECTOR_GROW(merge->queues, merge->capacity, merge->count + 1))
		return NULL;
	for (size_t i = merge->count++; i > at; i--)
		merge->queues[i] = merge->queues[i - 1];
	merge->queues[at] = (struct queue){.group = group};
	return &merge->queues[at];
}

/* Puts lines behind those of the part, so that many short ones wait in little memory. */
static int join(struct part *part, const struct dump_flow_lines *lines)
{
	struct dump_flow_lines *joined = &part->lines;

	for (size_t i = 0; i < lines->count; i++) {
		const size_t start = lines->items[i].start;
		const size_t end = i + 1 < lines->count ? lines->items[i + 1].start : lines->text.size;
		const int status = dump_flow_lines_at(joined, lines->items[i].time);

		if (status)
			return status;
		common_write_bytes(&joined->text, lines->text.data + start, end - start);
	}
	return joined->text.failed ? common_fail_memory("lines", joined->text.size) : 0;
}

/* Lets the part's text wait in the file; where that is not possible, it stays in memory. */
static void put_into_file(struct dump_flow_merge *merge, struct part *part)
{
	if (merge->file < 0 && common_open_temporary(&merge->file))
		return;
	if (common_write_temporary(merge->file, part->lines.text.data, part->size, merge->file_end))
		return;
	part->in_file = true;
	part->place = merge->file_end;
	merge->file_end += part->size;
	merge->parts_in_file++;
	merge->held -= part->size;
	part->lines.text.size = 0;
	merge->give_back(merge->context, &part->lines.text);
	part->lines.text = (struct ptl_bytes){0};
}

static int add_part(struct dump_flow_merge *merge, struct queue *queue, struct dump_flow_lines *lines)
{
	struct part *part = calloc(1, sizeof(*part));

	if (!part)
		return common_fail_memory("lines", sizeof(*part));
	part->lines = *lines;
	part->size = lines->text.size;
	*lines = (struct dump_flow_lines){0};
	if (queue->last)
		queue->last->next = part;
	else
		queue->first = part;
	queue->last = part;
	merge->held += part->size;
	if (merge->held > HELD_MAX)
		put_into_file(merge, part);
	return 0;
}

/* Whether the lines go into the part that waits, instead of into one of their own. */
static bool is_joined(const struct part *last, const struct dump_flow_lines *lines)
{
	return last && !last->in_file && last->size + lines->text.size <= JOINED_MAX;
}

static int add(struct dump_flow_merge *merge, size_t group, struct dump_flow_lines *lines)
{
	struct queue *queue;
	int status;

	if (lines->text.failed)
		return common_fail_memory("lines", lines->text.size);
	if (!lines->count)
		return 0;
	queue = queue_of(merge, group);
	if (!queue)
		return common_fail_memory("lines", sizeof(*queue));
	if (!is_joined(queue->last, lines))
		return add_part(merge, queue, lines);
	status = join(queue->last, lines);
	queue->last->size += lines->text.size;
	merge->held += lines->text.size;
	merge->give_back(merge->context, &lines->text);
	return status;
}

int dump_flow_merge_add(struct dump_flow_merge *merge, size_t group, struct dump_flow_lines *lines)
{
	const int status = add(merge, group, lines);

	dump_flow_lines_free(lines);
	return status;
}

static uint64_t time_of(const struct queue *queue)
{
	return queue->first->lines.items[queue->first->at].time;
}

/* Whether a's next line is written before b's: queues are in order of group. */
static bool is_before(const struct queue *a, const struct queue *b)
{
	return time_of(a) < time_of(b) || (time_of(a) == time_of(b) && a < b);
}

/* Finds the queue to write next, and the one after it (NULL: there is none). */
static struct queue *find_earliest(const struct dump_flow_merge *merge, struct queue **second)
{
	struct queue *first = NULL;

	*second = NULL;
	for (size_t i = 0; i < merge->count; i++) {
		struct queue *queue = &merge->queues[i];

		if (!first || is_before(queue, first)) {
			*second = first;
			first = queue;
		} else if (!*second || is_before(queue, *second)) {
			*second = queue;
		}
	}
	return first;
}

/* Writes bytes of text that waits in the file. PTL_SYSTEM, PTL_TRUNCATED. */
static int copy_from_file(const struct dump_flow_merge *merge, uint64_t place, size_t size, FILE *out)
{
	uint8_t buffer[READ_SIZE];

	while (size) {
		const size_t n = size < sizeof(buffer) ? size : sizeof(buffer);
		const int status = common_read_at(merge->file, buffer, n, place);

		if (status)
			return status;
		fwrite_unlocked(buffer, 1, n, out);
		place += n;
		size -= n;
	}
	return 0;
}

/* Writes items of the first part up to horizon, or until second's turn; all its bytes in one call. */
static int write_part(const struct dump_flow_merge *merge, struct queue *queue, const struct queue *second,
		      uint64_t horizon, FILE *out)
{
	struct part *part = queue->first;
	const struct dump_flow_lines *lines = &part->lines;
	const size_t start = lines->items[part->at].start;
	size_t end;

	do
		part->at++;
	while (part->at < lines->count && time_of(queue) < horizon && (!second || is_before(queue, second)));
	end = part->at < lines->count ? lines->items[part->at].start : part->size;
	if (part->in_file)
		return copy_from_file(merge, part->place + start, end - start, out);
	if (end > start)
		fwrite_unlocked(lines->text.data + start, 1, end - start, out);
	return 0;
}

/* The queue's first part is written. The file starts again where nothing waits in it. */
static void remove_part(struct dump_flow_merge *merge, struct queue *queue)
{
	struct part *part = queue->first;

	queue->first = part->next;
	if (!queue->first)
		queue->last = NULL;
	if (!part->in_file)
		merge->held -= part->size;
	else if (--merge->parts_in_file == 0)
		merge->file_end = 0;
	merge->give_back(merge->context, &part->lines.text);
	free_part(part);
}

static void remove_queue(struct dump_flow_merge *merge, struct queue *queue)
{
	merge->count--;
	for (struct queue *at = queue; at < merge->queues + merge->count; at++)
		*at = at[1];
}

int dump_flow_merge_write(struct dump_flow_merge *merge, uint64_t horizon, FILE *out)
{
	struct queue *queue, *second;
	int status = 0;

	while (status == 0 && (queue = find_earliest(merge, &second)) && time_of(queue) < horizon) {
		status = write_part(merge, queue, second, horizon, out);
		if (queue->first->at < queue->first->lines.count)
			continue;
		remove_part(merge, queue);
		if (!queue->first)
			remove_queue(merge, queue);
	}
	return status;
}
