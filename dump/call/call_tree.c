/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps calls in order; those that repeat what was before them become one. */
#include "dump/call/call_tree.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"

#define IN_MEMORY ((size_t)48 << 20)  /* bytes; more goes to a file */
#define FILE_STEP ((size_t)256 << 20) /* bytes by which a file grows at most */
#define WINDOW ((size_t)8 << 20)      /* bytes of a file that stay in memory behind the place at hand */
#define NO_RECORD UINT64_MAX          /* of a frame that is not in the list */
#define IS_BELOW ((uint64_t)1 << 62)  /* of a frame whose record is among `below` */

/* ---- the list ------------------------------------------------------------------------------------ */

void dump_record_list_free(struct dump_record_list *list)
{
	if (list->mapped) {
		munmap(list->records, list->capacity * sizeof(*list->records));
		close(list->fd);
	} else {
		free(list->records);
	}
	*list = (struct dump_record_list){0};
}

/* Pages remain the file's: what is touched again comes back. */
static void give_back(const struct dump_record_list *list, size_t end, size_t *given)
{
	size_t page;

	if (!list->mapped || end < *given + 2 * WINDOW)
		return;
	page = (size_t)sysconf(_SC_PAGESIZE);
	end = (end - WINDOW) & ~(page - 1);
	(void)madvise((uint8_t *)list->records + *given, end - *given, MADV_DONTNEED);
	*given = end;
}

void dump_record_list_pass(const struct dump_record_list *list, size_t index, size_t *passed)
{
	give_back(list, index * sizeof(*list->records), passed);
}

/* What was in memory so far is written, not copied, so that there is never twice as much. */
static int write_file(struct dump_record_list *list)
{
	return common_write_temporary(list->fd, (const uint8_t *)list->records, list->count * sizeof(*list->records),
				      0);
}

static int grow_file(struct dump_record_list *list, size_t capacity)
{
	const size_t size = capacity * sizeof(*list->records);
	/* A full disk is reported here, and not by a signal when it is written to. */
	const int error = posix_fallocate(list->fd, 0, (off_t)size);
	const int status = error || list->mapped ? 0 : write_file(list);
	void *map;

	if (error)
		return common_fail(PTL_SYSTEM, "no room for %zu bytes of calls in a temporary file: %s", size,
				   strerror(error));
	if (status < 0)
		return status;
	map = list->mapped ? mremap(list->records, list->capacity * sizeof(*list->records), size, MREMAP_MAYMOVE)
			   : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, list->fd, 0);
	if (map == MAP_FAILED)
		return common_fail_memory("calls", size);
	if (!list->mapped) {
		free(list->records);
		list->mapped = true;
	}
	list->records = map;
	list->capacity = capacity;
	return 0;
}

int dump_record_list_settle(struct dump_record_list *list)
{
	int status;

	if (list->mapped || !list->count)
		return 0;
	status = common_open_temporary(&list->fd);
	if (status < 0)
		return status;
	status = grow_file(list, list->count);
	if (status < 0)
		close(list->fd);
	return status;
}

static int grow(struct dump_record_list *list)
{
	const size_t size = list->capacity * sizeof(*list->records);
	const size_t capacity = size < FILE_STEP ? (list->capacity ? 2 * list->capacity : 256)
						 : list->capacity + FILE_STEP / sizeof(*list->records);
	struct dump_call_record *records;
	int status = 0;

	if (capacity * sizeof(*records) <= IN_MEMORY) {
		records = realloc(list->records, capacity * sizeof(*records));
		if (!records)
			return common_fail_memory("calls", capacity * sizeof(*records));
		list->records = records;
		list->capacity = capacity;
		return 0;
	}
	if (!list->mapped)
		status = common_open_temporary(&list->fd);
	if (status < 0)
		return status;
	status = grow_file(list, capacity);
	if (status < 0 && !list->mapped)
		close(list->fd);
	return status;
}

/* A record more, which is empty; NULL after a failure. */
static struct dump_call_record *add(struct dump_record_list *list)
{
	struct dump_call_record *record;

	if (list->count == list->capacity && grow(list) < 0)
		return NULL;
	give_back(list, list->count * sizeof(*list->records), &list->given_back);
	record = &list->records[list->count++];
	*record = (struct dump_call_record){0};
	return record;
}

/* ---- records ------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 32;
}

static uint32_t *belows_of(struct dump_call_tree *tree, uint32_t stack)
{
	if (stack >= tree->belows_count) {
		const size_t count = stack + 16;
		uint32_t *belows = realloc(tree->belows, count * sizeof(*belows));

		if (!belows) {
			common_fail_memory("calls", count * sizeof(*belows));
			return NULL;
		}
		memset(belows + tree->belows_count, 0, (count - tree->belows_count) * sizeof(*belows));
		tree->belows = belows;
		tree->belows_count = count;
	}
	return &tree->belows[stack];
}

size_t dump_record_level(const struct dump_call_tree *tree, const struct dump_call_record *record)
{
	return (size_t)(record->depth + (int64_t)tree->belows[record->stack]);
}

/* Where a frame is now, in a form that frames which come below do not change. */
static int depth_of(struct dump_call_tree *tree, const struct dump_call_thread *thread, size_t frame, int32_t *depth)
{
	const uint32_t *belows = belows_of(tree, thread->stack->number);

	if (!belows)
		return PTL_NO_MEMORY;
	*depth = (int32_t)((int64_t)frame - *belows);
	return 0;
}

static struct dump_call_record *record_of(struct dump_call_tree *tree, const struct dump_frame *frame)
{
	if (frame->user == NO_RECORD)
		return NULL;
	return frame->user & IS_BELOW ? &tree->below.records[frame->user & ~IS_BELOW]
				      : &tree->list.records[frame->user];
}

/* What was written before now. */
static int add_events(struct dump_call_tree *tree, const struct dump_call_thread *thread, uint64_t time)
{
	struct dump_call_record *record;
	const uint8_t *lines;
	size_t size;
	int32_t depth;
	int status;

	if (!tree->events || !time)
		return 0;
	lines = tree->events(tree->context, thread, time, &size);
	if (!size || !thread->stack)
		return 0;
	status = depth_of(tree, thread, thread->stack->count, &depth);
	record = status == 0 ? add(&tree->list) : NULL;
	if (!record)
		return status < 0 ? status : PTL_NO_MEMORY;
	tree->kept = tree->list.count;
	record->kind = DUMP_RECORD_EVENT;
	record->lines = lines;
	record->function = (uint32_t)(size < UINT32_MAX ? size : UINT32_MAX);
	record->depth = depth;
	record->stack = thread->stack->number;
	return 0;
}

static int enter(void *context, struct dump_call_thread *thread, struct dump_frame *frame)
{
	struct dump_call_tree *tree = context;
	struct dump_call_record *record;
	int32_t depth = 0;
	int status = add_events(tree, thread, frame->start);

	if (status == 0)
		status = depth_of(tree, thread, dump_frame_depth(thread, frame), &depth);
	frame->user = NO_RECORD;
	if (status < 0 || (tree->max_depth && depth >= 0 && (size_t)depth >= tree->max_depth))
		return status;
	frame->user = tree->list.count;
	record = add(&tree->list);
	if (!record)
		return PTL_NO_MEMORY;
	record->start = frame->start;
	record->repeats = 1;
	record->function = frame->function;
	record->depth = depth;
	record->stack = thread->stack->number;
	record->flags = (uint16_t)(frame->flags & DUMP_CALL_SHOWN);
	return 0;
}

static int rename_call(void *context, struct dump_call_thread *thread, struct dump_frame *frame)
{
	struct dump_call_record *record = record_of(context, frame);

	(void)thread;
	if (record)
		record->function = frame->function;
	return 0;
}

/*
 * One call after the other that is the same: both become one record, and what the second called goes. Where an event or the
 * calls of another stack lie in one of them, they are not the same.
 */
static bool fold_into(struct dump_call_tree *tree, struct dump_call_record *before,
		      const struct dump_call_record *record)
{
	if (tree->no_folding || before->shape != record->shape ||
	    before->end != (uint64_t)(record - tree->list.records) || before->kind != DUMP_RECORD_CALL ||
	    before->function != record->function || before->flags != record->flags ||
	    tree->kept > (size_t)(before - tree->list.records))
		return false;
	before->repeats++;
	before->wall += record->wall;
	before->self_time += record->self_time;
	before->instructions += record->instructions;
	before->self_instructions += record->self_instructions;
	before->children += record->children;
	tree->list.count = (size_t)(record - tree->list.records);
	return true;
}

/* The caller has made a call more; folded: it is one with the last. */
static void tell_caller(struct dump_call_tree *tree, struct dump_call_record *caller, size_t index, bool folded)
{
	const struct dump_call_record *record = &tree->list.records[folded ? caller->last : index];

	if (!folded) {
		caller->shape_before = caller->shape;
		caller->last = index;
	}
	caller->shape = mix(mix(caller->shape_before, record->shape), record->repeats);
}

/* Whether the call is left out; what it called took no longer. */
static bool is_small(const struct dump_call_tree *tree, const struct dump_frame *frame)
{
	return frame->wall < tree->min_time || frame->instructions < tree->min_instructions;
}

static int leave(void *context, struct dump_call_thread *thread, struct dump_frame *frame)
{
	struct dump_call_tree *tree = context;
	int status = add_events(tree, thread, thread->time);
	struct dump_call_record *record = record_of(tree, frame);
	struct dump_call_record *caller;
	size_t index;

	if (status < 0 || !record)
		return status;
	record->wall = frame->wall;
	record->self_time = frame->time > frame->child_time ? frame->time - frame->child_time : 0;
	record->instructions = frame->instructions;
	record->self_instructions = frame->instructions - frame->child_instructions;
	record->children = frame->children;
	record->flags = (uint16_t)(frame->flags & DUMP_CALL_SHOWN);
	if (frame->user & IS_BELOW)
		return 0;
	index = (size_t)frame->user;
	record->end = tree->list.count;
	record->shape = mix(mix(record->shape, record->function), record->flags);
	if (is_small(tree, frame)) {
		record->hidden = true;
		if (tree->list.count == index + 1)
			tree->list.count = index;
		return 0;
	}
	caller = dump_frame_depth(thread, frame) ? record_of(tree, frame - 1) : NULL;
	if (!caller || frame[-1].user & IS_BELOW)
		return 0;
	tell_caller(tree, caller, index, caller->last && fold_into(tree, &tree->list.records[caller->last], record));
	return 0;
}

static int take_leaf(void *context, struct dump_call_thread *thread, struct dump_frame *caller,
		     const struct dump_transfer *leaf)
{
	struct dump_call_tree *tree = context;
	const size_t index = tree->list.count;
	struct dump_call_record *record, *above;
	int32_t depth = 0;
	const int status = depth_of(tree, thread, thread->stack->count, &depth);

	/* Events come in between. */
	if (status < 0 || tree->events)
		return status;
	if ((tree->max_depth && depth >= 0 && (size_t)depth >= tree->max_depth) || tree->min_time ||
	    leaf->inside < tree->min_instructions)
		return 1;
	record = add(&tree->list);
	if (!record)
		return PTL_NO_MEMORY;
	record->start = thread->time;
	record->instructions = record->self_instructions = leaf->inside;
	record->repeats = 1;
	record->shape = mix(mix(0, leaf->function), 0);
	record->end = index + 1;
	record->function = leaf->function;
	record->depth = depth;
	record->stack = thread->stack->number;
	above = record_of(tree, caller);
	if (above && !(caller->user & IS_BELOW))
		tell_caller(tree, above, index,
			    above->last && fold_into(tree, &tree->list.records[above->last], record));
	return 1;
}

static int come_below(void *context, struct dump_call_thread *thread, struct dump_frame *frame)
{
	struct dump_call_tree *tree = context;
	uint32_t *belows = belows_of(tree, thread->stack->number);
	struct dump_call_record *record;

	if (!belows)
		return PTL_NO_MEMORY;
	frame->user = tree->below.count | IS_BELOW;
	record = add(&tree->below);
	if (!record)
		return PTL_NO_MEMORY;
	++*belows;
	record->start = frame->start;
	record->repeats = 1;
	record->function = frame->function;
	record->depth = -(int32_t)*belows;
	record->stack = thread->stack->number;
	record->flags = (uint16_t)(frame->flags & DUMP_CALL_SHOWN);
	return 0;
}

static int change_stack(void *context, struct dump_call_thread *thread)
{
	struct dump_call_tree *tree = context;
	const uint32_t *belows = belows_of(tree, thread->stack->number);
	struct dump_call_record *last = tree->list.count ? &tree->list.records[tree->list.count - 1] : NULL;

	if (!belows)
		return PTL_NO_MEMORY;
	if (!last || last->kind != DUMP_RECORD_STACK)
		last = add(&tree->list);
	if (!last)
		return PTL_NO_MEMORY;
	tree->kept = tree->list.count;
	last->kind = DUMP_RECORD_STACK;
	last->start = thread->time;
	last->stack = thread->stack->number;
	return 0;
}

/* ---- threads ------------------------------------------------------------------------------------- */

static void clear(struct dump_call_tree *tree)
{
	dump_record_list_free(&tree->list);
	dump_record_list_free(&tree->below);
	free(tree->belows);
	tree->kept = 0;
	tree->belows = NULL;
	tree->belows_count = 0;
}

static int show(void *context, struct dump_call_thread *thread)
{
	struct dump_call_tree *tree = context;
	int status = add_events(tree, thread, UINT64_MAX);

	if (status == 0)
		status = tree->show(tree->context, tree, thread);
	clear(tree);
	return status;
}

/* Events of later programs come with these. */
static int show_program(void *context, struct dump_call_thread *thread)
{
	struct dump_call_tree *tree = context;
	int status = add_events(tree, thread, thread->time);

	if (status == 0)
		status = tree->show(tree->context, tree, thread);
	clear(tree);
	return status;
}

void dump_call_tree_free(struct dump_call_tree *tree)
{
	clear(tree);
}

const struct dump_call_observer dump_call_tree_observer = {
	.end = show,
	.enter = enter,
	.rename = rename_call,
	.leaf = take_leaf,
	.leave = leave,
	.below = come_below,
	.change = change_stack,
	.exec = show_program,
};
