/* SPDX-License-Identifier: BSD-2-Clause */
/* Moves through call trees: forward by the ends of records, back by marks that are created on demand. */
#include "dump/browse/call_rows.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/partition.h"
#include "common/vector.h"

#define INDEX_BITS 40
#define INDEX_MASK (((uint64_t)1 << INDEX_BITS) - 1)
#define TOP UINT64_MAX               /* parent of records without a parent record */
#define IN_MEMORY ((size_t)64 << 20) /* bytes of all threads' lists in memory; further lists go to files */
#define MARK_STEP 64                 /* children between two marks */
#define SIBLINGS_MAX ((size_t)32)    /* parents with cached marks */
#define CHAIN_MAX 1000               /* maximum levels that one dump_browse_calls_open opens through only children */

/* Marks of a parent: every MARK_STEPth child. */
struct siblings {
	size_t *marks;
	size_t count;
	size_t first, end; /* index range of the children */
};

/* ---- rows ---------------------------------------------------------------------------------------- */

/* Numbers in a thread: 0 is the thread's own row, then the frames in `below`, then the records. */
static dump_browse_row row_of(size_t thread, size_t number)
{
	return (uint64_t)thread << INDEX_BITS | number;
}

static size_t thread_of(dump_browse_row row)
{
	return (size_t)(row >> INDEX_BITS);
}

static size_t call_number_of(dump_browse_row row)
{
	return (size_t)(row & INDEX_MASK);
}

static size_t row_count(const struct dump_browse_thread *thread)
{
	return 1 + thread->below_count + thread->list.count;
}

static size_t first_record(const struct dump_browse_thread *thread)
{
	return 1 + thread->below_count;
}

static bool is_record(const struct dump_browse_thread *thread, dump_browse_row row)
{
	return call_number_of(row) >= first_record(thread);
}

static size_t record_of(const struct dump_browse_thread *thread, dump_browse_row row)
{
	return call_number_of(row) - first_record(thread);
}

static bool is_open(const struct dump_browse_calls *calls, dump_browse_row row)
{
	return common_hash_map_get(&calls->open, row) != NULL;
}

/*
 * Returns the index after a record and all its callees. Truncated lists have ends beyond the list, so the end is
 * checked.
 */
static size_t end_of(const struct dump_browse_thread *thread, size_t index)
{
	const struct analysis_call_record *record = &thread->list.records[index];

	if (record->kind != ANALYSIS_RECORD_CALL || record->end <= index || record->end > thread->list.count)
		return index + 1;
	return (size_t)record->end;
}

/* ---- siblings ------------------------------------------------------------------------------------ */

static void free_siblings(struct dump_browse_calls *calls)
{
	uint64_t key, value;
	size_t at = 0;

	while (common_hash_map_next(&calls->siblings, &at, &key, &value)) {
		struct siblings *siblings = (struct siblings *)(uintptr_t)value;

		free(siblings->marks);
		free(siblings);
	}
	common_hash_map_free(&calls->siblings);
}

static bool add_marks(const struct dump_browse_thread *thread, struct siblings *siblings)
{
	size_t number = 0;

	for (size_t child = siblings->first; child < siblings->end; child = end_of(thread, child), number++) {
		if (number % MARK_STEP)
			continue;
		if (!common_vector_room(&siblings->marks, siblings->count, sizeof(*siblings->marks)))
			return false;
		siblings->marks[siblings->count++] = child;
	}
	return true;
}

/* Returns the marks of a record's children; parent may be TOP. Returns NULL without memory. */
static const struct siblings *siblings_of(struct dump_browse_calls *calls, size_t number, uint64_t parent)
{
	const struct dump_browse_thread *thread = &calls->threads[number];
	const uint64_t key = (uint64_t)number << INDEX_BITS | ((parent + 1) & INDEX_MASK);
	const uint64_t *known = common_hash_map_get(&calls->siblings, key);
	struct siblings *siblings;

	if (known)
		return (const struct siblings *)(uintptr_t)*known;
	if (calls->siblings.used >= SIBLINGS_MAX)
		free_siblings(calls);
	siblings = calloc(1, sizeof(*siblings));
	if (!siblings)
		return NULL;
	siblings->first = parent == TOP ? 0 : (size_t)parent + 1;
	siblings->end = parent == TOP ? thread->list.count : end_of(thread, (size_t)parent);
	if (add_marks(thread, siblings) && common_hash_map_put(&calls->siblings, key, (uintptr_t)siblings) == 0)
		return siblings;
	free(siblings->marks);
	free(siblings);
	return NULL;
}

/* Returns the nearest mark at or before the record. */
static size_t mark_before(const struct siblings *siblings, size_t index)
{
	const size_t low = COMMON_PARTITION(siblings->count, at, siblings->marks[at] <= index);

	return siblings->marks[low ? low - 1 : 0];
}

/* Returns the child that is the record, or contains the record. *before: the previous child; SIZE_MAX for the first. */
static size_t child_with(const struct dump_browse_thread *thread, const struct siblings *siblings, size_t index,
			 size_t *before)
{
	size_t child;

	*before = SIZE_MAX;
	/* Starts at the mark before the child's mark, since *before may precede the child's mark. */
	child = mark_before(siblings, index);
	if (child > siblings->first)
		child = mark_before(siblings, child - 1);
	while (end_of(thread, child) <= index) {
		*before = child;
		child = end_of(thread, child);
	}
	return child;
}

static size_t last_child(const struct dump_browse_thread *thread, const struct siblings *siblings)
{
	size_t child = siblings->marks[siblings->count - 1];

	while (end_of(thread, child) < siblings->end)
		child = end_of(thread, child);
	return child;
}

/* Returns the parent record of a record, or TOP. *before: previous sibling, as in child_with. */
static uint64_t parent_of(struct dump_browse_calls *calls, size_t number, size_t index, size_t *before)
{
	const struct dump_browse_thread *thread = &calls->threads[number];
	uint64_t parent = TOP;

	for (;;) {
		const struct siblings *siblings = siblings_of(calls, number, parent);
		size_t child;

		*before = SIZE_MAX;
		if (!siblings || !siblings->count)
			return parent;
		child = child_with(thread, siblings, index, before);
		if (child >= index)
			return parent;
		parent = child;
	}
}

/* ---- moves --------------------------------------------------------------------------------------- */

bool dump_browse_calls_first(const struct dump_browse_calls *calls, dump_browse_row *row)
{
	*row = row_of(0, 0);
	return calls->count;
}

static bool has_children(const struct dump_browse_thread *thread, dump_browse_row row)
{
	if (!is_record(thread, row))
		return call_number_of(row) + 1 < row_count(thread);
	return end_of(thread, record_of(thread, row)) > record_of(thread, row) + 1;
}

bool dump_browse_calls_next(const struct dump_browse_calls *calls, dump_browse_row *row)
{
	const size_t number = thread_of(*row);
	const struct dump_browse_thread *thread = &calls->threads[number];
	size_t next = call_number_of(*row) + 1;

	if (is_record(thread, *row) && !is_open(calls, *row))
		next = end_of(thread, record_of(thread, *row)) + first_record(thread);
	else if (!call_number_of(*row) && !is_open(calls, *row))
		next = row_count(thread);
	if (next < row_count(thread)) {
		*row = row_of(number, next);
		return true;
	}
	if (number + 1 == calls->count)
		return false;
	*row = row_of(number + 1, 0);
	return true;
}

/* Returns the last visible row of a record and its callees. */
static dump_browse_row last_shown(struct dump_browse_calls *calls, size_t number, size_t index)
{
	const struct dump_browse_thread *thread = &calls->threads[number];

	for (;;) {
		const dump_browse_row row = row_of(number, index + first_record(thread));
		const struct siblings *siblings = is_open(calls, row) && has_children(thread, row)
							  ? siblings_of(calls, number, index)
							  : NULL;

		if (!siblings || !siblings->count)
			return row;
		index = last_child(thread, siblings);
	}
}

/* Returns the last visible row of a thread. */
static dump_browse_row last_of_thread(struct dump_browse_calls *calls, size_t number)
{
	const struct dump_browse_thread *thread = &calls->threads[number];
	const struct siblings *siblings;

	if (!is_open(calls, row_of(number, 0)))
		return row_of(number, 0);
	siblings = thread->list.count ? siblings_of(calls, number, TOP) : NULL;
	if (!siblings)
		return row_of(number, row_count(thread) - thread->list.count - 1);
	return last_shown(calls, number, last_child(thread, siblings));
}

bool dump_browse_calls_previous(struct dump_browse_calls *calls, dump_browse_row *row)
{
	const size_t number = thread_of(*row);
	const struct dump_browse_thread *thread = &calls->threads[number];
	size_t before;
	uint64_t parent;

	if (!call_number_of(*row)) {
		if (!number)
			return false;
		*row = last_of_thread(calls, number - 1);
		return true;
	}
	if (!is_record(thread, *row)) {
		--*row;
		return true;
	}
	parent = parent_of(calls, number, record_of(thread, *row), &before);
	if (before != SIZE_MAX)
		*row = last_shown(calls, number, before);
	else
		*row = row_of(number, parent == TOP ? first_record(thread) - 1 : (size_t)parent + first_record(thread));
	return true;
}

bool dump_browse_calls_parent(struct dump_browse_calls *calls, dump_browse_row *row)
{
	const size_t number = thread_of(*row);
	const struct dump_browse_thread *thread = &calls->threads[number];
	size_t before;
	uint64_t parent;

	if (!call_number_of(*row))
		return false;
	if (!is_record(thread, *row)) {
		--*row;
		return true;
	}
	parent = parent_of(calls, number, record_of(thread, *row), &before);
	*row = row_of(number, parent == TOP ? first_record(thread) - 1 : (size_t)parent + first_record(thread));
	return true;
}

void dump_browse_calls_place(const struct dump_browse_calls *calls, dump_browse_row row,
			     struct dump_browse_place *place)
{
	const struct dump_browse_thread *thread = &calls->threads[thread_of(row)];
	const size_t number = call_number_of(row);

	*place = (struct dump_browse_place){
		.thread = thread, .has_children = has_children(thread, row), .open = is_open(calls, row)};
	if (!number)
		return;
	if (!is_record(thread, row)) {
		place->record = &thread->below[number - 1];
		place->level = number;
		place->open = true;
		return;
	}
	place->record = &thread->list.records[record_of(thread, row)];
	place->level = 1 + (size_t)(place->record->depth + (int64_t)thread->belows[place->record->stack]);
}

/* ---- opening ------------------------------------------------------------------------------------- */

/* Finds the only child row of a row. Returns false for several children or none. */
static bool only_child(const struct dump_browse_thread *thread, dump_browse_row row, dump_browse_row *child)
{
	*child = row + 1;
	if (!is_record(thread, *child))
		return true;
	if (!is_record(thread, row))
		return thread->list.count && end_of(thread, 0) == thread->list.count;
	return has_children(thread, row) &&
	       end_of(thread, record_of(thread, *child)) == end_of(thread, record_of(thread, row));
}

void dump_browse_calls_open(struct dump_browse_calls *calls, dump_browse_row row)
{
	const struct dump_browse_thread *thread = &calls->threads[thread_of(row)];

	for (unsigned i = 0; i < CHAIN_MAX && call_number_of(row) < row_count(thread) && has_children(thread, row);
	     i++) {
		/* Without memory, the row stays closed. */
		(void)common_hash_map_put(&calls->open, row, 1);
		if (!only_child(thread, row, &row))
			return;
	}
}

void dump_browse_calls_close(struct dump_browse_calls *calls, dump_browse_row row)
{
	common_hash_map_remove(&calls->open, row);
}

static uint64_t cost_of(const struct analysis_call_record *record)
{
	return record->start && record->wall ? record->wall : record->instructions;
}

bool dump_browse_calls_costliest(struct dump_browse_calls *calls, dump_browse_row *row)
{
	const size_t number = thread_of(*row);
	const struct dump_browse_thread *thread = &calls->threads[number];
	const bool in_record = is_record(thread, *row);
	size_t best = SIZE_MAX, end;

	if (!has_children(thread, *row))
		return false;
	dump_browse_calls_open(calls, *row);
	if (!is_record(thread, *row + 1)) {
		++*row;
		return true;
	}
	end = in_record ? end_of(thread, record_of(thread, *row)) : thread->list.count;
	for (size_t i = in_record ? record_of(thread, *row) + 1 : 0; i < end; i = end_of(thread, i))
		if (thread->list.records[i].kind == ANALYSIS_RECORD_CALL &&
		    (best == SIZE_MAX || cost_of(&thread->list.records[i]) > cost_of(&thread->list.records[best])))
			best = i;
	if (best == SIZE_MAX)
		return false;
	*row = row_of(number, best + first_record(thread));
	return true;
}

/* Opens all parents of a row. */
static void reveal(struct dump_browse_calls *calls, dump_browse_row row)
{
	while (dump_browse_calls_parent(calls, &row))
		(void)common_hash_map_put(&calls->open, row, 1);
}

/* ---- search -------------------------------------------------------------------------------------- */

static const struct analysis_call_record *record_at(const struct dump_browse_thread *thread, size_t number)
{
	if (!number)
		return NULL;
	return number < first_record(thread) ? &thread->below[number - 1]
					     : &thread->list.records[number - first_record(thread)];
}

bool dump_browse_calls_search(struct dump_browse_calls *calls, dump_browse_row *row, bool back,
			      bool (*matches)(void *context, const struct analysis_call_record *record), void *context)
{
	size_t number = thread_of(*row), at = call_number_of(*row);

	for (;;) {
		const struct dump_browse_thread *thread = &calls->threads[number];
		const size_t end = back ? 0 : row_count(thread) - 1;

		while (at != end) {
			const struct analysis_call_record *record;

			at += back ? (size_t)-1 : 1;
			record = record_at(thread, at);
			if (record && record->kind == ANALYSIS_RECORD_CALL && matches(context, record)) {
				*row = row_of(number, at);
				reveal(calls, *row);
				return true;
			}
		}
		if (back ? !number : number + 1 == calls->count)
			return false;
		number += back ? (size_t)-1 : 1;
		at = back ? row_count(&calls->threads[number]) : 0;
	}
}

/* ---- threads ------------------------------------------------------------------------------------- */

/* Takes over outermost frames of the first stack. The list has the outermost frame last. */
static int take_below(struct dump_browse_thread *thread, const struct analysis_record_list *below)
{
	thread->below = calloc(below->count + 1, sizeof(*thread->below));
	if (!thread->below)
		return common_fail_memory("calls", below->count * sizeof(*thread->below));
	for (size_t i = below->count; i-- > 0;)
		if (!below->records[i].stack)
			thread->below[thread->below_count++] = below->records[i];
	return 0;
}

int dump_browse_calls_take(struct dump_browse_calls *calls, struct analysis_call_tree *tree,
			   const struct analysis_call_thread *thread)
{
	struct dump_browse_thread *taken;
	int status = COMMON_VECTOR_RESERVE(calls->threads, calls->capacity, calls->count + 1, "threads");

	if (status < 0)
		return status;
	taken = &calls->threads[calls->count];
	*taken = (struct dump_browse_thread){
		.process = thread->process,
		.pid = thread->pid,
		.tid = thread->tid,
		.cpu = thread->cpu,
		.program = thread->program,
	};
	status = take_below(taken, &tree->below);
	if (status == 0)
		status = analysis_record_list_expand(&tree->list, calls->in_memory > IN_MEMORY);
	if (status < 0) {
		free(taken->below);
		return status;
	}
	taken->list = tree->list;
	taken->belows = tree->belows;
	taken->belows_count = tree->belows_count;
	tree->list = (struct analysis_record_list){0};
	tree->belows = NULL;
	tree->belows_count = 0;
	calls->in_memory += taken->list.mapped ? 0 : taken->list.count * sizeof(*taken->list.records);
	calls->count++;
	return 0;
}

void dump_browse_calls_free(struct dump_browse_calls *calls)
{
	for (size_t i = 0; i < calls->count; i++) {
		analysis_record_list_free(&calls->threads[i].list);
		free(calls->threads[i].below);
		free(calls->threads[i].belows);
	}
	free(calls->threads);
	free_siblings(calls);
	common_hash_map_free(&calls->open);
	*calls = (struct dump_browse_calls){0};
}
