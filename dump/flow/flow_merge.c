/* SPDX-License-Identifier: BSD-2-Clause */
/* Merges queues of lines: the queue with the earliest line writes until another queue has an earlier line. */
#include "dump/flow/flow_merge.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "common/vector.h"

/* Maximum bytes of text in a part that consecutive lines are joined to. */
#define JOINED_MAX ((size_t)64 << 10)
/*
 * Maximum bytes of text in memory; more text waits in a temporary file. A few bytes of packets may produce gigabytes of
 * text.
 */
#define HELD_MAX ((size_t)64 << 20)
#define READ_SIZE ((size_t)64 << 10)

struct part {
	struct part *next;
	struct dump_flow_lines lines;
	size_t at;   /* next item */
	size_t size; /* bytes of text, in memory or in the file */
	bool in_file;
	uint64_t place; /* offset in the file */
};

/* Parts of one group, a stream. Queues are listed only while they have parts. */
struct queue {
	size_t group;
	struct part *first;
	struct part *last;
};

struct dump_flow_merge {
	struct queue *queues; /* sorted by group */
	size_t count;
	size_t capacity;
	size_t held; /* bytes of text in memory */
	int file;    /* -1: not created yet */
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

/* Finds or adds the group's queue. Returns NULL without memory. */
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

/* Appends lines to a part, so that many short texts take little memory. */
static int join_lines(struct part *part, const struct dump_flow_lines *lines)
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

/* Moves a part's text to the file. After an error, the text stays in memory. */
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

/* Whether the lines fit the last waiting part, so that they need no part of their own. */
static bool is_joined(const struct part *last, const struct dump_flow_lines *lines)
{
	return last && !last->in_file && last->size + lines->text.size <= JOINED_MAX;
}

static int add_lines(struct dump_flow_merge *merge, size_t group, struct dump_flow_lines *lines)
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
	status = join_lines(queue->last, lines);
	queue->last->size += lines->text.size;
	merge->held += lines->text.size;
	merge->give_back(merge->context, &lines->text);
	return status;
}

int dump_flow_merge_add(struct dump_flow_merge *merge, size_t group, struct dump_flow_lines *lines)
{
	const int status = add_lines(merge, group, lines);

	dump_flow_lines_free(lines);
	return status;
}

static uint64_t time_of(const struct queue *queue)
{
	return queue->first->lines.items[queue->first->at].time;
}

/* Whether a's next line precedes b's. Of equal times, the lower group comes first. */
static bool is_queue_before(const struct queue *a, const struct queue *b)
{
	return time_of(a) < time_of(b) || (time_of(a) == time_of(b) && a < b);
}

/* Finds the queue with the earliest line. *second: the queue after it; NULL: none. */
static struct queue *find_earliest(const struct dump_flow_merge *merge, struct queue **second)
{
	struct queue *first = NULL;

	*second = NULL;
	for (size_t i = 0; i < merge->count; i++) {
		struct queue *queue = &merge->queues[i];

		if (!first || is_queue_before(queue, first)) {
			*second = first;
			first = queue;
		} else if (!*second || is_queue_before(queue, *second)) {
			*second = queue;
		}
	}
	return first;
}

/* Writes text from the file. Returns 0, PTL_SYSTEM or PTL_TRUNCATED. */
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

/* Writes items of the first part up to `horizon` or to the first line of `second`, by one write. */
static int write_part(const struct dump_flow_merge *merge, struct queue *queue, const struct queue *second,
		      uint64_t horizon, FILE *out)
{
	struct part *part = queue->first;
	const struct dump_flow_lines *lines = &part->lines;
	const size_t start = lines->items[part->at].start;
	size_t end;

	do
		part->at++;
	while (part->at < lines->count && time_of(queue) < horizon && (!second || is_queue_before(queue, second)));
	end = part->at < lines->count ? lines->items[part->at].start : part->size;
	if (part->in_file)
		return copy_from_file(merge, part->place + start, end - start, out);
	if (end > start)
		fwrite_unlocked(lines->text.data + start, 1, end - start, out);
	return 0;
}

/* Removes the queue's written part. The file is reused from its start when no part waits in it. */
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
