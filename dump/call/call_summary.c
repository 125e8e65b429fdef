/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes pieces of transfers that fit each other. */
#include "dump/call/call_summary.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/hash.h"
#include "dump/call/call_summary_state.h"
#include "dump/call/place_cache.h"

#define SLOTS_FIRST 256u
void dump_summary_free(struct dump_summary *summary)
{
	free(summary->pieces);
	free(summary->nodes);
	free(summary->times);
	free(summary->frames);
	free(summary->slots);
	*summary = (struct dump_summary){0};
}

void dump_summary_clear(struct dump_summary *summary)
{
	summary->piece_count = summary->node_count = summary->time_count = summary->frame_count = 0;
	summary->open = (struct dump_piece){0};
}

/* ---- nodes --------------------------------------------------------------------------------------- */

static uint32_t *slot_of(const struct dump_summary *summary, uint32_t parent, uint32_t function)
{
	uint64_t at = common_hash_mix((uint64_t)parent << 32 | function) >> 32;

	for (;; at++) {
		uint32_t *slot = &summary->slots[at & summary->slot_mask];
		const struct dump_summary_node *node = dump_summary_node(summary, *slot);

		if (!*slot || (node->parent == parent && node->function == function))
			return slot;
	}
}

static int grow_slots(struct dump_summary *summary, uint32_t count)
{
	uint32_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return common_fail_memory("paths of calls", count * sizeof(*slots));
	free(summary->slots);
	summary->slots = slots;
	summary->slot_mask = count - 1;
	for (uint32_t i = 1; i < summary->open.node_count; i++)
		*slot_of(summary, dump_summary_node(summary, i)->parent, dump_summary_node(summary, i)->function) = i;
	return 0;
}

static int add_node(struct dump_summary *summary, uint32_t parent, uint32_t function)
{
	const int status = COMMON_VECTOR_RESERVE(summary->nodes, summary->node_capacity, summary->node_count + 1,
						 "paths of calls");

	if (status < 0)
		return status;
	summary->nodes[summary->node_count++] = (struct dump_summary_node){.parent = parent, .function = function};
	summary->open.node_count++;
	return 0;
}

int dump_summary_search(struct dump_summary *summary, uint32_t parent, uint32_t function, uint32_t *number)
{
	uint32_t *slot = slot_of(summary, parent, function);
	int status = 0;

	if (!*slot && summary->open.node_count * 2 > summary->slot_mask) {
		status = grow_slots(summary, (summary->slot_mask + 1) * 2);
		slot = slot_of(summary, parent, function);
	}
	if (status == 0 && !*slot) {
		status = add_node(summary, parent, function);
		*slot = status == 0 ? (uint32_t)summary->open.node_count - 1 : 0;
	}
	*number = *slot;
	dump_summary_node(summary, parent)->recent = *number;
	return status;
}

/* ---- pieces -------------------------------------------------------------------------------------- */

static int begin_piece(struct dump_summary *summary)
{
	int status = 0;

	if (summary->slots)
		memset(summary->slots, 0, (summary->slot_mask + 1) * sizeof(*summary->slots));
	else
		status = grow_slots(summary, SLOTS_FIRST);
	summary->open = (struct dump_piece){
		.node = summary->node_count, .time = summary->time_count, .frame = summary->frame_count};
	summary->node = 0;
	summary->time = 0;
	return status == 0 ? add_node(summary, 0, DUMP_NO_FUNCTION) : status;
}

int dump_summary_close(struct dump_summary *summary, size_t transfers)
{
	struct dump_piece *piece = &summary->open;
	int status;

	/* One that is empty stays open. */
	if (!piece->transfers)
		return 0;
	status = COMMON_VECTOR_RESERVE(summary->pieces, summary->piece_capacity, summary->piece_count + 1,
				       "paths of calls");
	if (status < 0)
		return status;
	piece->at = transfers;
	piece->time_count = summary->time_count - piece->time;
	piece->frame_count = summary->frame_count - piece->frame;
	for (size_t i = piece->frame; i < summary->frame_count; i++) {
		struct dump_summary_frame *frame = &summary->frames[i];

		frame->function = dump_summary_node(summary, frame->node)->function;
		/* How old it is cannot be seen any more. */
		if (frame->has_called || piece->instructions > frame->clock)
			frame->flags &= ~DUMP_CALL_MIDWAY;
		dump_summary_node(summary, frame->node)->calls--;
	}
	piece->calls -= piece->frame_count;
	summary->pieces[summary->piece_count++] = *piece;
	summary->open = (struct dump_piece){0};
	/* A large table is cleared with each piece. */
	if (summary->slot_mask + 1 > SLOTS_FIRST) {
		free(summary->slots);
		summary->slots = NULL;
	}
	return 0;
}

/* Removes the first elements of an array. */
#define DROP(array, count, dropped) (*(count) -= drop_front((array), sizeof(*(array)), *(count), (dropped)))

/* Returns how many there were to drop. */
static size_t drop_front(void *array, size_t size, size_t count, size_t dropped)
{
	if (dropped)
		memmove(array, (uint8_t *)array + dropped * size, (count - dropped) * size);
	return dropped;
}

void dump_summary_before(const struct dump_summary *summary, size_t count, size_t ahead, size_t *transfers,
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
}

void dump_summary_drop(struct dump_summary *summary, size_t transfers, size_t pieces)
{
	const struct dump_piece *kept = pieces < summary->piece_count ? &summary->pieces[pieces] : NULL;
	const struct dump_piece first = kept ? *kept
					     : (struct dump_piece){.node = summary->node_count,
								   .time = summary->time_count,
								   .frame = summary->frame_count};

	summary->open = (struct dump_piece){0};
	DROP(summary->nodes, &summary->node_count, first.node);
	DROP(summary->times, &summary->time_count, first.time);
	DROP(summary->frames, &summary->frame_count, first.frame);
	DROP(summary->pieces, &summary->piece_count, pieces);
	for (size_t i = 0; i < summary->piece_count; i++) {
		summary->pieces[i].at -= transfers;
		summary->pieces[i].node -= first.node;
		summary->pieces[i].time -= first.time;
		summary->pieces[i].frame -= first.frame;
	}
}

/* ---- transfers ----------------------------------------------------------------------------------- */

int dump_summary_tick(struct dump_summary *summary, uint64_t time)
{
	if (COMMON_VECTOR_RESERVE(summary->times, summary->time_capacity, summary->time_count + 1, "times of calls") <
	    0)
		return PTL_NO_MEMORY;
	summary->time = time;
	summary->times[summary->time_count++] = (struct dump_summary_time){time, summary->node};
	return 0;
}

static int pass(struct dump_summary *summary, const struct dump_transfer *transfer)
{
	return dump_summary_pass(summary, transfer->instructions, transfer->time);
}

static int push(struct dump_summary *summary, const struct dump_transfer *transfer, uint64_t return_address,
		unsigned flags)
{
	if (!(transfer->flags & DUMP_TRANSFER_START))
		flags |= DUMP_CALL_MIDWAY;
	if (transfer->function_flags & DUMP_FUNCTION_STUB)
		flags |= DUMP_CALL_STUB;
	return dump_summary_push(summary, transfer->function, transfer->to, return_address, flags);
}

static bool is_plain(const struct dump_transfer *transfer)
{
	return !(transfer->function_flags & ~DUMP_FUNCTION_STUB) && !(transfer->flags & DUMP_TRANSFER_OUTSIDE);
}

/* What it takes is of the function that it leads to: as long as that is not known, nothing may be counted. */
static inline bool is_stub(const struct dump_summary_frame *top)
{
	return top && top->flags & DUMP_CALL_STUB;
}

static int take_call(struct dump_summary *summary, const struct dump_transfer *transfer)
{
	int status;

	if (!is_plain(transfer) || is_stub(dump_summary_top(summary)))
		return 0;
	status = pass(summary, transfer);
	if (status == 0)
		status = push(summary, transfer, transfer->address, 0);
	return status < 0 ? status : 1;
}

static int take_return(struct dump_summary *summary, const struct dump_transfer *transfer)
{
	const struct dump_summary_frame *top = dump_summary_top(summary);
	int status;

	if (!top || !transfer->to || top->return_address != transfer->to || transfer->flags & DUMP_TRANSFER_OUTSIDE)
		return 0;
	status = pass(summary, transfer);
	if (status == 0)
		dump_summary_pop(summary);
	return status < 0 ? status : 1;
}

static int take_leaf(struct dump_summary *summary, const struct dump_transfer *transfer)
{
	const struct dump_transfer end = {
		.kind = DUMP_TRANSFER_RETURN, .to = transfer->address, .instructions = transfer->inside};
	const int status = take_call(summary, transfer);

	return status > 0 ? take_return(summary, &end) : status;
}

/* The call is one of another function, which what it entered only led to. */
static int resolve(struct dump_summary *summary, const struct dump_transfer *transfer, struct dump_summary_frame *top)
{
	struct dump_summary_node *before = dump_summary_node(summary, top->node);
	const uint32_t parent = before->parent;
	uint32_t node;
	int status;

	before->calls--;
	before->renamed = transfer->function + 1;
	status = dump_summary_child(summary, parent, transfer->function, &node);
	if (status < 0)
		return status;
	dump_summary_node(summary, node)->calls++;
	top->node = summary->node = node;
	top->entry = transfer->to;
	top->flags &= ~(unsigned)(DUMP_CALL_STUB | DUMP_CALL_MIDWAY);
	return pass(summary, transfer);
}

static int tail_call(struct dump_summary *summary, const struct dump_transfer *transfer)
{
	const uint64_t return_address = dump_summary_top(summary)->return_address;
	int status = pass(summary, transfer);

	if (status < 0)
		return status;
	dump_summary_pop(summary);
	return push(summary, transfer, return_address, DUMP_CALL_TAIL);
}

/* Of code without symbols, whose entry of a PLT has none either, and which has executed nothing that was taken. */
#define YOUNG 8

static int take_jump(struct dump_summary *summary, const struct dump_transfer *transfer)
{
	struct dump_summary_frame *top = dump_summary_top(summary);
	const bool young = top && top->flags & DUMP_CALL_MIDWAY && !top->has_called &&
			   summary->open.instructions - top->clock + transfer->instructions <= YOUNG;
	const bool starts = transfer->flags & DUMP_TRANSFER_START;
	const bool stub = transfer->function_flags & DUMP_FUNCTION_STUB;
	int status;

	if (!top || !is_plain(transfer) || transfer->function == DUMP_NO_FUNCTION)
		return 0;
	if (is_stub(top)) {
		if (!starts || stub)
			return 0;
		status = resolve(summary, transfer, top);
	} else if (young && transfer->flags & DUMP_TRANSFER_INDIRECT && transfer->flags & DUMP_TRANSFER_FOREIGN) {
		if (stub || !starts || summary->open.instructions != top->clock)
			return 0;
		status = resolve(summary, transfer, top);
	} else if (starts) {
		status = tail_call(summary, transfer);
	} else if (young || transfer->flags & DUMP_TRANSFER_INDIRECT) {
		return 0;
	} else {
		status = pass(summary, transfer);
	}
	return status < 0 ? status : 1;
}

int dump_summary_take(struct dump_summary *summary, const struct dump_transfer *transfer)
{
	int status;

	if (!summary->open.node_count) {
		status = begin_piece(summary);
		if (status < 0)
			return status;
	}
	if (dump_summary_is_full(summary))
		return 0;
	switch (transfer->kind) {
	case 0:
		if (is_stub(dump_summary_top(summary)))
			return 0;
		status = pass(summary, transfer);
		return status < 0 ? status : 1;
	case DUMP_TRANSFER_CALL:
		return take_call(summary, transfer);
	case DUMP_TRANSFER_RETURN:
		return take_return(summary, transfer);
	case DUMP_TRANSFER_LEAF:
		return take_leaf(summary, transfer);
	case DUMP_TRANSFER_JUMP:
		return take_jump(summary, transfer);
	default:
		return 0;
	}
}

/* ---- steps --------------------------------------------------------------------------------------- */

/* Flow comes to the run: 1; 0: by something else than a call or return that fits, and nothing was done. */
static inline int come(struct dump_summary *summary, struct dump_tracker *tracker, const struct flow_step *step,
		       const struct dump_transfer_run *known)
{
	const uint8_t branch = tracker->leaving.branch;
	const struct dump_summary_frame *top = dump_summary_top(summary);
	const uint64_t instructions = tracker->instructions + step->instructions;
	const uint64_t time = step->time ? step->time : tracker->time;
	int status;

	if (step->passed || branch < FLOW_BRANCH_CALL) {
		if (known->from != tracker->home)
			return 0;
		tracker->instructions = instructions;
		return 1;
	}
	if (branch == FLOW_BRANCH_RETURN) {
		if (!top || top->return_address != known->ip)
			return 0;
		status = dump_summary_pass(summary, instructions, time);
		dump_summary_pop(summary);
	} else if ((branch == FLOW_BRANCH_CALL || branch == FLOW_BRANCH_CALL_INDIRECT) &&
		   known->function != DUMP_NO_FUNCTION && tracker->leaving.behind != known->ip && !is_stub(top)) {
		status = dump_summary_pass(summary, instructions, time);
		if (status == 0)
			status = dump_summary_push(summary, known->function, known->ip, tracker->leaving.behind,
						   (known->starts ? 0 : DUMP_CALL_MIDWAY) |
							   (known->stub ? DUMP_CALL_STUB : 0));
	} else {
		return 0;
	}
	tracker->instructions = 0;
	tracker->time = time;
	return status < 0 ? status : 1;
}

/* The transfers within the run; those from the first on that is not taken are found. */
static int take_within(struct dump_summary *summary, struct dump_tracker *tracker,
		       const struct dump_transfer *transfers, size_t count, struct dump_transfers *found)
{
	int status = 1;

	for (size_t i = 0; status >= 0 && i < count; i++) {
		struct dump_transfer transfer = transfers[i];

		transfer.time = tracker->time;
		transfer.instructions += (uint32_t)tracker->instructions;
		tracker->instructions = 0;
		status = status ? dump_summary_take(summary, &transfer) : 0;
		if (status)
			continue;
		status = COMMON_VECTOR_RESERVE(found->list, found->capacity, found->count + 1, "calls");
		if (status == 0)
			found->list[found->count++] = transfer;
	}
	return status < 0 ? status : 1;
}

int dump_summary_step(struct dump_summary *summary, struct dump_tracker *tracker, const struct dump_transfer_runs *runs,
		      const struct flow_step *step, uint32_t *home, struct dump_transfers *found)
{
	const struct dump_transfer_run *known = step->run ? dump_transfer_run_find(runs, *step->tag) : NULL;
	int status;

	if (!known || !tracker->home || !summary->open.node_count || !tracker->leaving.valid ||
	    tracker->instructions + step->instructions > UINT32_MAX / 2 || dump_summary_is_full(summary))
		return 0;
	status = come(summary, tracker, step, known);
	if (status <= 0)
		return status;
	if (known->more) {
		const struct dump_transfer_run_more *more = &runs->more[known->more];

		if (more->lands && step->time)
			tracker->time = step->time;
		status = take_within(summary, tracker, runs->list + more->transfers, more->count, found);
	}
	dump_tracker_end_run(tracker, known);
	*home = known->branch < FLOW_BRANCH_CALL ? known->to : 0;
	return status;
}
