/* SPDX-License-Identifier: BSD-2-Clause */
/* Combines matching transfers to pieces. */
#include "analysis/call/call_summary.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/call/call_summary_state.h"
#include "analysis/call/place_cache.h"
#include "common/error.h"
#include "common/hash.h"

void analysis_summary_free(struct analysis_summary *summary)
{
	free(summary->pieces);
	free(summary->nodes);
	free(summary->times);
	free(summary->frames);
	free(summary->sums);
	*summary = (struct analysis_summary){0};
}

void analysis_summary_clear(struct analysis_summary *summary)
{
	summary->piece_count = summary->node_count = summary->time_count = summary->frame_count = 0;
	summary->sum_count = 0;
	summary->is_open = false;
}

/* ---- pieces -------------------------------------------------------------------------------------- */

int analysis_summary_begin(struct analysis_summary *summary)
{
	int status;

	summary->is_open = true;
	summary->call = 0;
	summary->instructions = summary->clock = 0;
	summary->time = 0;
	summary->first_time = summary->time_count;
	summary->is_full = false;
	status = analysis_summary_tree_begin(summary->tree);
	summary->by_function = summary->totals != NULL;
	return status == 0 && summary->by_function ? analysis_totals_begin(summary) : status;
}

/* Copies the nodes in order of their first call; a node follows its caller. */
static void put_nodes(struct analysis_summary *summary, struct analysis_piece *piece)
{
	const struct analysis_summary_tree *tree = summary->tree;

	piece->node_count = tree->node_count;
	for (uint32_t i = 0; i < tree->node_count; i++) {
		const struct analysis_summary_call *call = &tree->calls[tree->nodes[i]];

		summary->nodes[summary->node_count++] = (struct analysis_summary_node){
			.instructions = call->instructions,
			.calls = (uint64_t)call->calls,
			.parent = tree->calls[call->parent].number,
			.function = call->function,
			.renamed = call->renamed,
		};
		piece->instructions += call->instructions;
		piece->calls += (uint64_t)call->calls;
	}
	for (size_t i = piece->time; i < summary->time_count; i++)
		summary->times[i].node = tree->calls[summary->times[i].node].number;
}

/* Copies the unfinished calls, and subtracts them from the ended calls. */
static void put_frames(struct analysis_summary *summary, struct analysis_piece *piece)
{
	const struct analysis_summary_call *calls = summary->tree->calls;

	piece->frame_count = calls[summary->call].depth;
	piece->calls -= piece->frame_count;
	summary->frame_count += piece->frame_count;
	for (uint32_t at = summary->call; at; at = calls[at].parent) {
		const struct analysis_summary_call *call = &calls[at];
		/* The age of such a call is lost. */
		const bool old = at != summary->call || summary->instructions > summary->clock;

		summary->frames[piece->frame + call->depth - 1] = (struct analysis_summary_frame){
			.return_address = call->return_address,
			.entry = call->entry,
			.flags = call->flags & ~(old ? (unsigned)ANALYSIS_CALL_MIDWAY : 0),
			.function = call->function,
		};
		if (!summary->by_function)
			summary->nodes[piece->node + call->number].calls--;
	}
}

static bool is_empty(const struct analysis_summary *summary)
{
	const struct analysis_summary_tree *tree = summary->tree;

	return !tree->transfers && !tree->calls[0].instructions && summary->time_count == summary->first_time &&
	       !summary->time;
}

int analysis_summary_close(struct analysis_summary *summary, size_t transfers)
{
	struct analysis_piece piece = {.at = transfers,
				       .node = summary->node_count,
				       .time = summary->first_time,
				       .frame = summary->frame_count,
				       .by_function = summary->by_function,
				       .sum = summary->sum_count};
	int status;

	if (!summary->is_open)
		return 0;
	summary->is_open = false;
	if (is_empty(summary))
		return 0;
	piece.time_count = summary->time_count - summary->first_time;
	piece.transfers = summary->tree->transfers;
	status = COMMON_VECTOR_RESERVE(summary->pieces, summary->piece_capacity, summary->piece_count + 1,
				       "paths of calls");
	if (status == 0 && !summary->by_function)
		status = COMMON_VECTOR_RESERVE(summary->nodes, summary->node_capacity,
					       summary->node_count + summary->tree->node_count, "paths of calls");
	if (status == 0)
		status = COMMON_VECTOR_RESERVE(summary->frames, summary->frame_capacity,
					       summary->frame_count + summary->tree->calls[summary->call].depth,
					       "calls");
	if (status < 0)
		return status;
	if (summary->by_function)
		status = analysis_totals_close(summary, &piece);
	else
		put_nodes(summary, &piece);
	if (status < 0)
		return status;
	put_frames(summary, &piece);
	summary->pieces[summary->piece_count++] = piece;
	return 0;
}

/* Removes the first elements of an array. */
#define DROP(array, count, dropped) (*(count) -= drop_front((array), sizeof(*(array)), *(count), (dropped)))

/* Returns the number of dropped elements. */
static size_t drop_front(void *array, size_t size, size_t count, size_t dropped)
{
	if (dropped)
		memmove(array, (uint8_t *)array + dropped * size, (count - dropped) * size);
	return dropped;
}

void analysis_summary_before(const struct analysis_summary *summary, size_t count, size_t ahead, size_t *transfers,
			     size_t *pieces)
{
	uint64_t found = 0;

	*transfers = count;
	*pieces = summary->piece_count;
	while (found < ahead && (*transfers || *pieces))
		if (*pieces && summary->pieces[*pieces - 1].at >= *transfers)
			found += summary->pieces[--*pieces].transfers;
		else
			found++, --*transfers;
	while (*pieces < summary->piece_count && summary->pieces[*pieces].at <= *transfers)
		++*pieces;
}

void analysis_summary_drop(struct analysis_summary *summary, size_t transfers, size_t pieces)
{
	const struct analysis_piece *kept = pieces < summary->piece_count ? &summary->pieces[pieces] : NULL;
	const struct analysis_piece first = kept ? *kept
						 : (struct analysis_piece){.node = summary->node_count,
									   .time = summary->time_count,
									   .frame = summary->frame_count,
									   .sum = summary->sum_count};

	DROP(summary->nodes, &summary->node_count, first.node);
	DROP(summary->times, &summary->time_count, first.time);
	DROP(summary->frames, &summary->frame_count, first.frame);
	DROP(summary->sums, &summary->sum_count, first.sum);
	DROP(summary->pieces, &summary->piece_count, pieces);
	for (size_t i = 0; i < summary->piece_count; i++) {
		summary->pieces[i].at -= transfers;
		summary->pieces[i].node -= first.node;
		summary->pieces[i].time -= first.time;
		summary->pieces[i].frame -= first.frame;
		summary->pieces[i].sum -= first.sum;
	}
}

/* ---- transfers ----------------------------------------------------------------------------------- */

int analysis_summary_add_time(struct analysis_summary *summary, uint32_t call, uint64_t time)
{
	struct analysis_summary_time *last = summary->time_count > summary->first_time
						     ? &summary->times[summary->time_count - 1]
						     : NULL;

	if (summary->by_function) {
		analysis_totals_tick(summary, time);
		return 0;
	}
	summary->time = time;
	if (last && last->node == call) {
		last->time = time;
		return 0;
	}
	if (COMMON_VECTOR_RESERVE(summary->times, summary->time_capacity, summary->time_count + 1, "times of calls") <
	    0)
		return PTL_NO_MEMORY;
	summary->times[summary->time_count++] = (struct analysis_summary_time){time, call};
	summary->is_full |= summary->time_count - summary->first_time >= ANALYSIS_PIECE_TIMES;
	return 0;
}

int analysis_summary_tick(struct analysis_summary *summary, uint64_t time)
{
	return analysis_summary_add_time(summary, summary->call, time);
}

static int pass_transfer(struct analysis_summary *summary, const struct analysis_transfer *transfer)
{
	return analysis_summary_pass(summary, transfer->instructions, transfer->time);
}

/* Ends the piece before calls exceed the room. One more transfer always fits. */
static void note_room(struct analysis_summary *summary, uint32_t depth)
{
	summary->is_full |= summary->tree->call_count >= ANALYSIS_SUMMARY_CALLS_MAX || depth >= ANALYSIS_PIECE_DEPTH;
}

/* Finds or adds the call equal to `like`. */
static int call_number_of(struct analysis_summary *summary, const struct analysis_summary_call *like, uint32_t *number)
{
	const int status = analysis_summary_tree_call(summary->tree, like, number);

	note_room(summary, like->depth);
	return status;
}

/* As call_number_of, for a piece with a stack of calls. */
static int enter_by_function(struct analysis_summary *summary, const struct analysis_summary_call *like)
{
	const int status = analysis_totals_reserve(summary->totals, like->function);

	if (status == 0)
		analysis_totals_push(summary, like->function, like->entry, like->return_address, like->flags);
	return status;
}

/* Replaces the innermost call by a call equal to `like`. */
static int change_top(struct analysis_summary *summary, const struct analysis_summary_call *like)
{
	uint32_t number;
	int status;

	if (summary->by_function) {
		analysis_totals_take_back(summary);
		summary->call--;
		return enter_by_function(summary, like);
	}
	status = call_number_of(summary, like, &number);
	if (status < 0)
		return status;
	analysis_summary_add(summary, summary->call, 0, -1);
	analysis_summary_add(summary, number, 0, 1);
	summary->call = number;
	return 0;
}

int analysis_summary_grow_old(struct analysis_summary *summary)
{
	struct analysis_summary_call *top = analysis_summary_top(summary);
	struct analysis_summary_call like;

	if (!top || !(top->flags & ANALYSIS_CALL_MIDWAY))
		return 0;
	if (summary->by_function) {
		top->flags &= ~(unsigned)ANALYSIS_CALL_MIDWAY;
		return 0;
	}
	like = (struct analysis_summary_call){.return_address = top->return_address,
					      .entry = top->entry,
					      .parent = top->parent,
					      .function = top->function,
					      .flags = top->flags & ~(unsigned)ANALYSIS_CALL_MIDWAY,
					      .depth = top->depth};
	return change_top(summary, &like);
}

int analysis_summary_push(struct analysis_summary *summary, uint32_t function, uint64_t entry, uint64_t return_address,
			  unsigned flags)
{
	struct analysis_summary_call like = {
		.return_address = return_address, .entry = entry, .function = function, .flags = flags};
	uint32_t number;
	/* Calling makes the caller old. */
	int status = analysis_summary_grow_old(summary);

	if (status < 0)
		return status;
	like.parent = summary->call;
	like.depth = summary->tree->calls[summary->call].depth + 1;
	if (summary->by_function) {
		summary->clock = summary->instructions;
		return enter_by_function(summary, &like);
	}
	status = call_number_of(summary, &like, &number);
	if (status < 0)
		return status;
	analysis_summary_add(summary, number, 0, 1);
	summary->call = number;
	summary->clock = summary->instructions;
	return 0;
}

static int push(struct analysis_summary *summary, const struct analysis_transfer *transfer, uint64_t return_address,
		unsigned flags)
{
	return analysis_summary_push(summary, transfer->function, transfer->to, return_address,
				     flags | analysis_summary_flags(transfer));
}

uint32_t analysis_summary_enter(struct analysis_summary *summary, const struct analysis_transfer *transfer)
{
	const struct analysis_summary_call like = {
		.return_address = transfer->address,
		.entry = transfer->to,
		.parent = summary->call,
		.function = transfer->function,
		.flags = analysis_summary_flags(transfer),
		.depth = summary->tree->calls[summary->call].depth + 1,
	};
	const uint32_t entered = analysis_summary_tree_enter(summary->tree, transfer->site, &like);

	note_room(summary, like.depth);
	return entered;
}

static int take_call(struct analysis_summary *summary, const struct analysis_transfer *transfer)
{
	int status;

	if (!analysis_summary_is_plain(transfer) || analysis_summary_is_stub(analysis_summary_top(summary)))
		return 0;
	status = pass_transfer(summary, transfer);
	if (status == 0)
		status = push(summary, transfer, transfer->address, 0);
	return status < 0 ? status : 1;
}

static int take_return(struct analysis_summary *summary, const struct analysis_transfer *transfer)
{
	const struct analysis_summary_call *top = analysis_summary_top(summary);
	int status;

	if (!top || !transfer->to || top->return_address != transfer->to || transfer->flags & ANALYSIS_TRANSFER_OUTSIDE)
		return 0;
	status = pass_transfer(summary, transfer);
	if (status == 0)
		analysis_summary_pop(summary);
	return status < 0 ? status : 1;
}

static int take_leaf(struct analysis_summary *summary, const struct analysis_transfer *transfer)
{
	const struct analysis_transfer end = {
		.kind = ANALYSIS_TRANSFER_RETURN, .to = transfer->address, .instructions = transfer->inside};
	const int status = take_call(summary, transfer);

	return status > 0 ? take_return(summary, &end) : status;
}

/*
 * Renames the innermost call, a stub, to its target function. Returns 1, or 0 if the stub has led to another function
 * before.
 */
static int resolve_stub(struct analysis_summary *summary, const struct analysis_transfer *transfer)
{
	struct analysis_summary_call *top = &summary->tree->calls[summary->call];
	const struct analysis_summary_call like = {
		.return_address = top->return_address,
		.entry = transfer->to,
		.parent = top->parent,
		.function = transfer->function,
		.flags = top->flags & ~(unsigned)(ANALYSIS_CALL_STUB | ANALYSIS_CALL_MIDWAY),
		.depth = top->depth,
	};
	int status;

	if (top->renamed && top->renamed != transfer->function + 1)
		return 0;
	top->renamed = transfer->function + 1;
	status = change_top(summary, &like);
	if (status == 0)
		status = pass_transfer(summary, transfer);
	return status < 0 ? status : 1;
}

static int tail_call(struct analysis_summary *summary, const struct analysis_transfer *transfer)
{
	const uint64_t return_address = analysis_summary_top(summary)->return_address;
	int status = pass_transfer(summary, transfer);

	if (status < 0)
		return status;
	analysis_summary_pop(summary);
	return push(summary, transfer, return_address, ANALYSIS_CALL_TAIL);
}

static int take_jump(struct analysis_summary *summary, const struct analysis_transfer *transfer)
{
	const struct analysis_summary_call *top = analysis_summary_top(summary);
	const bool young = top && top->flags & ANALYSIS_CALL_MIDWAY &&
			   summary->instructions - summary->clock + transfer->instructions <= ANALYSIS_SUMMARY_YOUNG;
	const bool starts = transfer->flags & ANALYSIS_TRANSFER_START;
	const bool stub = transfer->function_flags & ANALYSIS_FUNCTION_STUB;
	int status;

	if (!analysis_summary_is_plain(transfer))
		return 0;
	/* A jump within a function, whose parts may lie apart, changes no stack. */
	if (!starts && !young && !(transfer->flags & ANALYSIS_TRANSFER_INDIRECT) && !analysis_summary_is_stub(top)) {
		status = pass_transfer(summary, transfer);
		return status < 0 ? status : 1;
	}
	if (!top || transfer->function == ANALYSIS_NO_FUNCTION)
		return 0;
	if (analysis_summary_is_stub(top)) {
		if (!starts || stub)
			return 0;
		return resolve_stub(summary, transfer);
	} else if (young && transfer->flags & ANALYSIS_TRANSFER_INDIRECT &&
		   transfer->flags & ANALYSIS_TRANSFER_FOREIGN) {
		if (stub || !starts || summary->instructions != summary->clock)
			return 0;
		return resolve_stub(summary, transfer);
	}
	if (!starts)
		return 0;
	status = tail_call(summary, transfer);
	return status < 0 ? status : 1;
}

int analysis_summary_take(struct analysis_summary *summary, const struct analysis_transfer *transfer)
{
	int status;

	if (!summary->is_open) {
		status = analysis_summary_begin(summary);
		if (status < 0)
			return status;
	}
	if (summary->is_full)
		return 0;
	switch (transfer->kind) {
	case 0:
		if (analysis_summary_is_stub(analysis_summary_top(summary)))
			return 0;
		status = pass_transfer(summary, transfer);
		return status < 0 ? status : 1;
	case ANALYSIS_TRANSFER_CALL:
		return take_call(summary, transfer);
	case ANALYSIS_TRANSFER_RETURN:
		return take_return(summary, transfer);
	case ANALYSIS_TRANSFER_LEAF:
		return take_leaf(summary, transfer);
	case ANALYSIS_TRANSFER_JUMP:
		return take_jump(summary, transfer);
	default:
		return 0;
	}
}
