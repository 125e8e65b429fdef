/* SPDX-License-Identifier: BSD-2-Clause */
/* The view that collects blocks. */
#include "dump/gdb/trace_blocks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"

/* The blocks of a segment. */
struct part {
	struct part *next;
	struct dump_gdb_block *blocks;
	size_t count, capacity;
	uint64_t instructions;
	uint64_t next_ip; /* address behind the last block; 0: a block cannot be continued */
	uint64_t stop;    /* address at which execution stopped behind the last block; 0 unknown */
	/* of the window's function; NULL without one, or behind its first call */
	struct dump_gdb_function_cache *searched;
	/* code that was found unchanged at the end of the window; kept_first above kept_last: none */
	uint64_t kept_first, kept_last;
	uint32_t kept_image;
	bool has_call; /* the function was called, first in the block with the number `call` */
	size_t call;
};

struct part_list {
	uint32_t tid, thread;
	struct part *first, *last;
	uint64_t instructions;
	uint64_t before, after; /* instructions of removed parts */
	bool started;           /* the thread has called the window's function, or the window has none */
};

struct collection {
	const struct dump_gdb_window *window;
	const struct flow_timeline *timeline;
	uint32_t process;        /* index in the timeline */
	struct part_list *lists; /* by thread */
	size_t count;
};

/* ---- segments ------------------------------------------------------------------------------------ */

static int collection_begin(void *context, const struct flow_segment *segment, void **partial)
{
	const struct collection *collection = context;
	struct part *part = calloc(1, sizeof(*part));

	(void)segment;
	if (part)
		part->kept_first = 1;
	if (part && collection->window->from) {
		part->searched = calloc(1, sizeof(*part->searched));
		if (!part->searched) {
			free(part);
			part = NULL;
		}
	}
	*partial = part;
	return part ? 0 : common_fail_memory("blocks", sizeof(*part));
}

static void collection_drop(void *context, void *partial)
{
	struct part *part = partial;

	(void)context;
	free(part->searched);
	free(part->blocks);
	free(part);
}

static int part_add(struct part *part, const struct dump_gdb_block *block)
{
	const int status = COMMON_VECTOR_RESERVE(part->blocks, part->capacity, part->count + 1, "blocks");

	if (status == 0)
		part->blocks[part->count++] = *block;
	return status;
}

/* Notes the first call of the window's function. Returns whether the block begins this call. */
static int part_search(struct part *part, const struct dump_gdb_function *function, const struct flow_block *block,
		       bool *begins)
{
	bool failed = false;

	*begins = part->searched && dump_gdb_function_begins(function, part->searched, block, &failed);
	if (failed)
		return common_fail_memory("names", 0);
	if (*begins) {
		part->has_call = true;
		part->call = part->count;
		free(part->searched);
		part->searched = NULL;
	}
	return 0;
}

/*
 * Whether memory at the end of the window may have other code at the block than the block executed. gdb measures
 * instructions in this memory.
 */
static bool is_replaced(const struct collection *collection, struct part *part, const struct flow_block *block)
{
	const uint64_t last = collection->window->last_time;
	struct flow_place place;

	if (block->code_event)
		return true;
	if (part->kept_image == block->image && block->ip >= part->kept_first && block->ip <= part->kept_last)
		return false;
	if (!flow_timeline_find(collection->timeline, collection->process, last ? last : UINT64_MAX - 1, block->ip,
				&place) ||
	    place.image != block->image || place.code_event || block->last_ip > place.last)
		return true;
	part->kept_image = place.image;
	part->kept_first = place.first;
	part->kept_last = place.last;
	return false;
}

/* Adds each instruction as a block: gdb then needs no lengths. */
static int part_add_instructions(struct part *part, const struct flow_block *block, uint64_t time)
{
	uint64_t ip = block->ip;
	int status = 0;

	for (uint32_t i = 0; status == 0 && i < block->instructions; i++) {
		status = part_add(part,
				  &(struct dump_gdb_block){.begin = ip, .end = ip, .time = time, .instructions = 1});
		ip += block->lengths[i];
	}
	return status;
}

static int part_add_block(struct part *part, const struct collection *collection, const struct flow_block *block,
			  uint64_t time)
{
	struct dump_gdb_block *last = part->count ? &part->blocks[part->count - 1] : NULL;
	bool begins;
	int status = part_search(part, collection->window->from, block, &begins);

	if (status < 0)
		return status;
	if (block->mode != 64)
		return common_fail(PTL_UNSUPPORTED, "%u-bit code at 0x%" PRIx64 ": only 64-bit code is supported",
				   block->mode, block->ip);
	part->instructions += block->instructions;
	if (is_replaced(collection, part, block)) {
		status = part_add_instructions(part, block, time);
		part->next_ip = part->stop = 0;
		return status;
	}
	if (last && !begins && part->next_ip == block->ip && last->time == time &&
	    block->instructions <= UINT32_MAX - last->instructions) {
		last->end = block->last_ip;
		last->instructions += block->instructions;
	} else {
		status = part_add(part, &(struct dump_gdb_block){.begin = block->ip,
								 .end = block->last_ip,
								 .time = time,
								 .instructions = block->instructions});
	}
	part->next_ip = block->ip + block->size;
	part->stop = 0;
	return status;
}

static int part_add_event(struct part *part, const struct flow_event *event)
{
	if (event->kind == FLOW_GAP) {
		part->next_ip = 0;
		part->stop = 0;
		return part_add(part, &(struct dump_gdb_block){.time = event->time, .cause = event->cause});
	}
	if ((event->kind == FLOW_ASYNC_DISABLED || event->kind == FLOW_ASYNC_BRANCH) &&
	    event->flags & FLOW_EVENT_HAS_FROM)
		part->stop = event->from;
	else if (event->kind == FLOW_DISABLED && event->flags & FLOW_EVENT_HAS_TO)
		part->stop = event->to;
	return 0;
}

static int collection_consume(void *context, void *partial, const struct flow_segment *segment,
			      const struct flow_batch *batch)
{
	const struct collection *collection = context;
	struct flow_batch_cursor cursor = flow_batch_walk(batch);
	int status = 0;

	(void)segment;
	while (status == 0 && flow_batch_next(&cursor))
		status = cursor.block ? part_add_block(partial, collection, cursor.block, cursor.time)
				      : part_add_event(partial, cursor.event);
	return status;
}

/* ---- threads ------------------------------------------------------------------------------------- */

static struct part_list *list_of(struct collection *collection, const struct flow_segment *segment)
{
	struct part_list *list;

	for (size_t i = 0; i < collection->count; i++)
		if (collection->lists[i].tid == segment->tid)
			return &collection->lists[i];
	if (!common_vector_room(&collection->lists, collection->count, sizeof(*collection->lists)))
		return NULL;
	list = &collection->lists[collection->count++];
	*list = (struct part_list){
		.tid = segment->tid, .thread = segment->thread, .started = !collection->window->from};
	return list;
}

/* Removes parts that the window does not need. The part at the border stays whole. */
static void list_shorten(struct part_list *list, const struct dump_gdb_window *window)
{
	while (!window->first && list->first->next &&
	       list->instructions - list->first->instructions >= window->instructions) {
		struct part *part = list->first;

		list->first = part->next;
		list->instructions -= part->instructions;
		list->before += part->instructions;
		collection_drop(NULL, part);
	}
}

/* Removes the blocks before the first call of the window's function. Returns whether the part is before the call. */
static bool list_is_before_call(struct part_list *list, struct part *part)
{
	size_t removed = part->has_call ? part->call : part->count;

	if (list->started)
		return false;
	list->started = part->has_call;
	for (size_t i = 0; i < removed; i++) {
		list->before += part->blocks[i].instructions;
		part->instructions -= part->blocks[i].instructions;
	}
	part->count -= removed;
	if (part->count)
		memmove(part->blocks, part->blocks + removed, part->count * sizeof(*part->blocks));
	return !list->started;
}

static int collection_emit(void *context, const struct flow_segment *segment, void *partial, uint64_t horizon)
{
	struct collection *collection = context;
	struct part_list *list = list_of(collection, segment);
	struct part *part = partial;

	(void)horizon;
	if (!list) {
		collection_drop(NULL, part);
		return common_fail_memory("threads", collection->count);
	}
	if (list_is_before_call(list, part)) {
		collection_drop(NULL, part);
		return 0;
	}
	if (collection->window->first && list->instructions >= collection->window->instructions) {
		list->after += part->instructions;
		collection_drop(NULL, part);
		return 0;
	}
	if (list->last)
		list->last->next = part;
	else
		list->first = part;
	list->last = part;
	list->instructions += part->instructions;
	list_shorten(list, collection->window);
	return 0;
}

static void list_free(struct part_list *list)
{
	while (list->first) {
		struct part *part = list->first;

		list->first = part->next;
		collection_drop(NULL, part);
	}
}

/* ---- the model ----------------------------------------------------------------------------------- */

static int list_join(struct part_list *list, struct dump_gdb_thread *thread)
{
	size_t count = 0;

	for (const struct part *part = list->first; part; part = part->next)
		count += part->count;
	thread->blocks = malloc((count + 1) * sizeof(*thread->blocks));
	if (!thread->blocks)
		return common_fail_memory("blocks", count * sizeof(*thread->blocks));
	for (const struct part *part = list->first; part; part = part->next) {
		for (size_t i = 0; i < part->count; i++)
			thread->blocks[thread->count++] = part->blocks[i];
		if (part->count || part->stop)
			thread->next = part->stop;
	}
	thread->tid = list->tid;
	thread->instructions = list->instructions;
	thread->before = list->before;
	thread->after = list->after;
	return 0;
}

/* Cuts whole blocks, so that at most `most` instructions remain, but at least one block. */
static void thread_cut(struct dump_gdb_thread *thread, const struct dump_gdb_window *window)
{
	size_t start = 0, end = thread->count;

	while (thread->instructions > window->instructions && end - start > 1) {
		const uint64_t removed = thread->blocks[window->first ? end - 1 : start].instructions;

		thread->instructions -= removed;
		if (window->first) {
			thread->after += removed;
			thread->next = 0;
			end--;
		} else {
			thread->before += removed;
			start++;
		}
	}
	if (start)
		memmove(thread->blocks, thread->blocks + start, (end - start) * sizeof(*thread->blocks));
	thread->count = end - start;
	if (thread->after)
		thread->next = 0;
}

static int collection_finish(struct collection *collection, const struct flow_timeline *timeline,
			     struct dump_gdb_thread **threads, size_t *count)
{
	int status = 0;

	*count = 0;
	*threads = calloc(collection->count + 1, sizeof(**threads));
	if (!*threads)
		return common_fail_memory("threads", collection->count);
	for (size_t i = 0; status == 0 && i < collection->count; i++) {
		struct part_list *list = &collection->lists[i];
		struct dump_gdb_thread *thread = &(*threads)[*count];

		status = list_join(list, thread);
		list_free(list);
		thread_cut(thread, collection->window);
		if (list->thread != FLOW_NONE)
			thread->name = flow_timeline_thread(timeline, list->thread)->name;
		if (thread->instructions) {
			++*count;
		} else {
			free(thread->blocks);
			*thread = (struct dump_gdb_thread){0};
		}
	}
	return status;
}

void dump_gdb_threads_free(struct dump_gdb_thread *threads, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(threads[i].blocks);
	free(threads);
}

int dump_gdb_blocks_read(struct ptl_trace *trace, const struct flow_timeline *timeline, uint32_t process,
			 const struct flow_view_options *options, const struct dump_gdb_window *window,
			 struct dump_gdb_model *model)
{
	struct flow_view_options own = *options;
	struct collection collection = {.window = window, .timeline = timeline};
	const struct flow_view view = {
		.context = &collection,
		.begin = collection_begin,
		.consume = collection_consume,
		.emit = collection_emit,
		.drop = collection_drop,
	};
	struct dump_gdb_thread *threads = NULL;
	size_t count = 0;
	int status;

	own.by_time = true;
	collection.process = process;
	own.selection.first_time = window->first_time;
	own.selection.last_time = window->last_time;
	status = flow_view_run(trace, timeline, &own, &view);
	if (status == 0)
		status = collection_finish(&collection, timeline, &threads, &count);
	for (size_t i = 0; i < collection.count; i++)
		list_free(&collection.lists[i]);
	free(collection.lists);
	if (status == 0 && !count)
		status = common_fail(PTL_NOT_FOUND, "no thread of the process executed code in this window");
	if (status < 0) {
		dump_gdb_threads_free(threads, count);
		return status;
	}
	dump_gdb_threads_free(model->threads, model->thread_count);
	model->threads = threads;
	model->thread_count = count;
	model->generation++;
	return 0;
}
