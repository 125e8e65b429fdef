/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps records of calls in order, and folds repeated calls into one record. */
#include "analysis/call/call_tree.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"

#define NO_RECORD UINT64_MAX         /* frame->user of a frame without a record */
#define IS_BELOW ((uint64_t)1 << 62) /* flag in frame->user: the record is in `below` */

/* ---- records ------------------------------------------------------------------------------------- */

static uint64_t mix_hash(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 32;
}

static __attribute__((noinline)) int add_belows(struct analysis_call_tree *tree, uint32_t stack)
{
	const size_t count = stack + 16;
	uint32_t *belows = realloc(tree->belows, count * sizeof(*belows));

	if (!belows)
		return common_fail_memory("calls", count * sizeof(*belows));
	memset(belows + tree->belows_count, 0, (count - tree->belows_count) * sizeof(*belows));
	tree->belows = belows;
	tree->belows_count = count;
	return 0;
}

static inline uint32_t *belows_of(struct analysis_call_tree *tree, uint32_t stack)
{
	if (__builtin_expect(stack >= tree->belows_count, 0) && add_belows(tree, stack) < 0)
		return NULL;
	return &tree->belows[stack];
}

size_t analysis_record_level(const struct analysis_call_tree *tree, const struct analysis_call_record *record)
{
	return (size_t)(record->depth + (int64_t)tree->belows[record->stack]);
}

/* Computes a frame's depth relative to the first frame of its stack, which frames found below do not change. */
static inline int depth_of(struct analysis_call_tree *tree, const struct analysis_call_thread *thread, size_t frame,
			   int32_t *depth)
{
	const uint32_t *belows = belows_of(tree, thread->stack->number);

	if (!belows)
		return PTL_NO_MEMORY;
	*depth = (int32_t)((int64_t)frame - *belows);
	return 0;
}

static inline struct analysis_call_record *record_of(const struct analysis_call_tree *tree,
						     const struct analysis_frame *frame)
{
	if (frame->user == NO_RECORD)
		return NULL;
	return frame->user & IS_BELOW ? analysis_record_list_at(&tree->below, frame->user & ~IS_BELOW)
				      : analysis_record_list_at(&tree->list, frame->user);
}

/*
 * Adds a record with all values 0. Returns NULL after a failure. Assigns each member: gcc clears a whole structure by a
 * string instruction, which takes longer than all other work here.
 */
static inline struct analysis_call_record *add_record(struct analysis_record_list *list, uint8_t kind)
{
	struct analysis_call_record *record = analysis_record_list_add(list);

	if (!record)
		return NULL;
	record->start = 0;
	record->wall = record->self_time = 0;
	record->instructions = record->self_instructions = 0;
	record->children = 0;
	record->repeats = kind == ANALYSIS_RECORD_CALL;
	record->shape = 0;
	record->end = 0;
	record->function = 0;
	record->depth = 0;
	record->stack = 0;
	record->flags = 0;
	record->kind = kind;
	record->hidden = false;
	return record;
}

/* Adds a record of the events before this time. */
static __attribute__((noinline)) int take_events(struct analysis_call_tree *tree,
						 const struct analysis_call_thread *thread, uint64_t time)
{
	struct analysis_call_record *record;
	const uint8_t *lines;
	size_t size;
	int32_t depth;
	int status;

	lines = tree->events(tree->context, thread, time, &size);
	if (!size || !thread->stack)
		return 0;
	status = depth_of(tree, thread, thread->stack->count, &depth);
	record = status == 0 ? add_record(&tree->list, ANALYSIS_RECORD_EVENT) : NULL;
	if (!record)
		return status < 0 ? status : PTL_NO_MEMORY;
	tree->kept = tree->list.count;
	record->lines = lines;
	record->function = (uint32_t)(size < UINT32_MAX ? size : UINT32_MAX);
	record->depth = depth;
	record->stack = thread->stack->number;
	return 0;
}

static inline int add_events(struct analysis_call_tree *tree, const struct analysis_call_thread *thread, uint64_t time)
{
	return __builtin_expect(tree->events != NULL, 0) && time ? take_events(tree, thread, time) : 0;
}

static int tree_enter(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct analysis_call_tree *tree = context;
	struct analysis_call_record *record;
	int32_t depth = 0;
	int status = add_events(tree, thread, frame->start);

	if (status == 0)
		status = depth_of(tree, thread, analysis_frame_depth(thread, frame), &depth);
	frame->user = NO_RECORD;
	if (status < 0 || (tree->max_depth && depth >= 0 && (size_t)depth >= tree->max_depth))
		return status;
	frame->user = tree->list.count;
	record = add_record(&tree->list, ANALYSIS_RECORD_CALL);
	if (!record)
		return PTL_NO_MEMORY;
	record->start = frame->start;
	record->function = frame->function;
	record->depth = depth;
	record->stack = thread->stack->number;
	record->flags = (uint16_t)(frame->flags & ANALYSIS_CALL_SHOWN);
	return 0;
}

static int rename_call(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct analysis_call_record *record = record_of(context, frame);

	(void)thread;
	if (record)
		record->function = frame->function;
	return 0;
}

/* Updates the caller after a call: the record with this index. */
static void tell_caller(struct analysis_call_record *caller, const struct analysis_call_record *record, size_t index)
{
	caller->shape_before = caller->shape;
	caller->last = index;
	caller->shape = mix_hash(mix_hash(caller->shape, record->shape), record->repeats);
}

/*
 * Finds a record that the caller's last call can be folded into: the record before must end at `index` and have equal
 * function, flags and callees (shape). Calls that contain an event or a change of stacks are not folded. Returns NULL
 * if no record matches.
 */
static inline struct analysis_call_record *find_alike(const struct analysis_call_tree *tree,
						      const struct analysis_call_record *caller, size_t index,
						      uint64_t shape, uint32_t function, unsigned flags)
{
	struct analysis_call_record *before = caller->last ? analysis_record_list_at(&tree->list, caller->last) : NULL;

	if (!before || tree->no_folding || before->shape != shape || before->end != index ||
	    before->kind != ANALYSIS_RECORD_CALL || before->function != function || before->flags != flags ||
	    tree->kept > caller->last)
		return NULL;
	return before;
}

/* Whether the call has a selected function. Remembers the call's place if so. */
static inline bool select_call(struct analysis_call_tree *tree, uint32_t function, size_t index)
{
	if (__builtin_expect(!tree->selects, 1) || !tree->selects(tree->context, function))
		return false;
	tree->selected = index + 1;
	return true;
}

/* Counts one more repetition of the caller's last call. */
static void repeat(struct analysis_call_record *caller, struct analysis_call_record *last)
{
	last->repeats++;
	caller->shape = mix_hash(mix_hash(caller->shape_before, last->shape), last->repeats);
}

static void fold(struct analysis_call_tree *tree, struct analysis_call_record *caller,
		 struct analysis_call_record *before, const struct analysis_call_record *record, size_t index)
{
	before->wall += record->wall;
	before->self_time += record->self_time;
	before->instructions += record->instructions;
	before->self_instructions += record->self_instructions;
	before->children += record->children;
	repeat(caller, before);
	analysis_record_list_cut(&tree->list, index);
}

/* Whether the call is left out. Its callees are no longer than the call. */
static bool is_small(const struct analysis_call_tree *tree, const struct analysis_frame *frame)
{
	return frame->wall < tree->min_time || frame->instructions < tree->min_instructions;
}

static int tree_leave(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct analysis_call_tree *tree = context;
	int status = add_events(tree, thread, thread->time);
	struct analysis_call_record *record = record_of(tree, frame);
	struct analysis_call_record *caller, *before;
	bool contains;
	size_t index;

	if (status < 0 || !record)
		return status;
	record->wall = frame->wall;
	record->self_time = frame->time > frame->child_time ? frame->time - frame->child_time : 0;
	record->instructions = frame->instructions;
	record->self_instructions = frame->instructions - frame->child_instructions;
	record->children = frame->children;
	record->flags = (uint16_t)(frame->flags & ANALYSIS_CALL_SHOWN);
	record->end = tree->list.count;
	if (frame->user & IS_BELOW)
		return 0;
	index = (size_t)frame->user;
	record->shape = mix_hash(mix_hash(record->shape, record->function), record->flags);
	if (is_small(tree, frame)) {
		record->hidden = true;
		if (tree->list.count == index + 1)
			analysis_record_list_cut(&tree->list, index);
		return 0;
	}
	contains = tree->selected > index + 1;
	if (select_call(tree, record->function, index))
		contains = false;
	caller = analysis_frame_depth(thread, frame) ? record_of(tree, frame - 1) : NULL;
	if (!caller || frame[-1].user & IS_BELOW)
		return 0;
	before = contains ? NULL : find_alike(tree, caller, index, record->shape, record->function, record->flags);
	if (before)
		fold(tree, caller, before, record, index);
	else
		tell_caller(caller, record, index);
	return 0;
}

static int take_leaf(void *context, struct analysis_call_thread *thread, struct analysis_frame *caller,
		     const struct analysis_transfer *leaf)
{
	struct analysis_call_tree *tree = context;
	const size_t index = tree->list.count;
	const uint64_t shape = mix_hash(mix_hash(0, leaf->function), 0);
	struct analysis_call_record *record, *above, *before;
	int32_t depth = 0;
	const int status = depth_of(tree, thread, thread->stack->count, &depth);

	/* With events, leaf calls need frames: events may stand between. */
	if (status < 0 || tree->events)
		return status;
	if ((tree->max_depth && depth >= 0 && (size_t)depth >= tree->max_depth) || tree->min_time ||
	    leaf->inside < tree->min_instructions)
		return 1;
	select_call(tree, leaf->function, index);
	above = caller->user & IS_BELOW ? NULL : record_of(tree, caller);
	before = above ? find_alike(tree, above, index, shape, leaf->function, 0) : NULL;
	if (before) {
		before->instructions += leaf->inside;
		before->self_instructions += leaf->inside;
		repeat(above, before);
		return 1;
	}
	record = add_record(&tree->list, ANALYSIS_RECORD_CALL);
	if (!record)
		return PTL_NO_MEMORY;
	record->start = thread->time;
	record->instructions = record->self_instructions = leaf->inside;
	record->shape = shape;
	record->end = index + 1;
	record->function = leaf->function;
	record->depth = depth;
	record->stack = thread->stack->number;
	/* Adding a record may move records. */
	if (above)
		tell_caller(record_of(tree, caller), record, index);
	return 1;
}

static int come_below(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct analysis_call_tree *tree = context;
	uint32_t *belows = belows_of(tree, thread->stack->number);
	struct analysis_call_record *record;

	if (!belows)
		return PTL_NO_MEMORY;
	frame->user = tree->below.count | IS_BELOW;
	record = add_record(&tree->below, ANALYSIS_RECORD_CALL);
	if (!record)
		return PTL_NO_MEMORY;
	++*belows;
	record->start = frame->start;
	record->function = frame->function;
	record->depth = -(int32_t)*belows;
	record->stack = thread->stack->number;
	record->flags = (uint16_t)(frame->flags & ANALYSIS_CALL_SHOWN);
	return 0;
}

static int change_stack(void *context, struct analysis_call_thread *thread)
{
	struct analysis_call_tree *tree = context;
	const uint32_t *belows = belows_of(tree, thread->stack->number);
	struct analysis_call_record *last = tree->list.count
						    ? analysis_record_list_at(&tree->list, tree->list.count - 1)
						    : NULL;

	if (!belows)
		return PTL_NO_MEMORY;
	if (!last || last->kind != ANALYSIS_RECORD_STACK)
		last = add_record(&tree->list, ANALYSIS_RECORD_STACK);
	if (!last)
		return PTL_NO_MEMORY;
	tree->kept = tree->list.count;
	last->start = thread->time;
	last->stack = thread->stack->number;
	return 0;
}

/* ---- threads ------------------------------------------------------------------------------------- */

static void clear_tree(struct analysis_call_tree *tree)
{
	analysis_record_list_free(&tree->list);
	analysis_record_list_free(&tree->below);
	free(tree->belows);
	tree->kept = tree->selected = 0;
	tree->belows = NULL;
	tree->belows_count = 0;
}

/* Shows the records, including the events before a time. */
static int show_before(struct analysis_call_tree *tree, struct analysis_call_thread *thread, uint64_t time)
{
	int status = add_events(tree, thread, time);

	if (status == 0)
		status = analysis_record_list_complete(&tree->list);
	if (status == 0)
		status = analysis_record_list_complete(&tree->below);
	if (status == 0)
		status = analysis_record_list_expand(&tree->below, false);
	if (status == 0)
		status = tree->show(tree->context, tree, thread);
	clear_tree(tree);
	return status;
}

static int show_thread(void *context, struct analysis_call_thread *thread)
{
	return show_before(context, thread, UINT64_MAX);
}

/* Events after exec belong to the next program. */
static int show_program(void *context, struct analysis_call_thread *thread)
{
	return show_before(context, thread, thread->time);
}

void analysis_call_tree_free(struct analysis_call_tree *tree)
{
	clear_tree(tree);
}

const struct analysis_call_observer analysis_call_tree_observer = {
	.end = show_thread,
	.enter = tree_enter,
	.rename = rename_call,
	.leaf = take_leaf,
	.leave = tree_leave,
	.below = come_below,
	.change = change_stack,
	.exec = show_program,
};
