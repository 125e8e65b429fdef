/* SPDX-License-Identifier: BSD-2-Clause */
/* A merge of queues of lines: the one whose next line is earliest writes until another's is earlier. */
#include "dump/print/flow_merge.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/vector.h"

/* Lines that follow each other are held as one part up to so many bytes of text. */
#define JOINED_MAX ((size_t)64 << 10)

struct part {
	struct part *next;
	struct dump_flow_lines lines;
	size_t at; /* next item */
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

static int add_part(struct queue *queue, struct dump_flow_lines *lines)
{
	struct part *part = calloc(1, sizeof(*part));

	if (!part)
		return common_fail_memory("lines", sizeof(*part));
	part->lines = *lines;
	*lines = (struct dump_flow_lines){0};
	if (queue->last)
		queue->last->next = part;
	else
		queue->first = part;
	queue->last = part;
	return 0;
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
	if (!queue->last || queue->last->lines.text.size + lines->text.size > JOINED_MAX)
		return add_part(queue, lines);
	status = join(queue->last, lines);
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

/* Writes items of the first part up to horizon, or until second's turn; all its bytes in one call. */
static void write_part(struct queue *queue, const struct queue *second, uint64_t horizon, FILE *out)
{
	struct part *part = queue->first;
	const struct dump_flow_lines *lines = &part->lines;
	const size_t start = lines->items[part->at].start;
	size_t end;

	do
		part->at++;
	while (part->at < lines->count && time_of(queue) < horizon && (!second || is_before(queue, second)));
	end = part->at < lines->count ? lines->items[part->at].start : lines->text.size;
	if (end > start)
		fwrite_unlocked(lines->text.data + start, 1, end - start, out);
}

static void remove_queue(struct dump_flow_merge *merge, struct queue *queue)
{
	merge->count--;
	for (struct queue *at = queue; at < merge->queues + merge->count; at++)
		*at = at[1];
}

void dump_flow_merge_write(struct dump_flow_merge *merge, uint64_t horizon, FILE *out)
{
	struct queue *queue, *second;

	while ((queue = find_earliest(merge, &second)) && time_of(queue) < horizon) {
		struct part *part = queue->first;

		write_part(queue, second, horizon, out);
		if (part->at < part->lines.count)
			continue;
		queue->first = part->next;
		merge->give_back(merge->context, &part->lines.text);
		free_part(part);
		if (!queue->first)
			remove_queue(merge, queue);
	}
}
