/* SPDX-License-Identifier: BSD-2-Clause */
/* Moves through code as the packets say, and gives out what was executed. */
#include "flow/native/walk.h"

#include "flow/native/address.h"
#include "flow/native/block.h"
#include "flow/native/inherit.h"

static void fail_memory(struct native_decoder *decoder)
{
	decoder->no_memory = true;
	decoder->failed = true;
	decoder->node = NULL;
}

/* A stack without addresses stays so, but for calls before the part, which are not on it yet. */
static void pop(struct native_decoder *decoder, unsigned count)
{
	if (count > decoder->stack_count) {
		decoder->missing += count - decoder->stack_count;
		count = decoder->stack_count;
	}
	decoder->stack_count -= count;
	decoder->stack_top -= count;
}

void native_update_stack(struct native_decoder *decoder)
{
	for (; decoder->stack_runs < decoder->out.run_count; decoder->stack_runs++) {
		const struct native_run *run = (const struct native_run *)decoder->out.runs[decoder->stack_runs];

		pop(decoder, decoder->stack_return + run->pops);
		decoder->stack_return = run->returns;
		for (uint32_t i = 0; i < run->push_count; i++)
			decoder->stack[decoder->stack_top++ % NATIVE_STACK] = run->pushes[i];
		decoder->stack_count += run->push_count;
		if (decoder->stack_count > NATIVE_STACK)
			decoder->stack_count = NATIVE_STACK;
	}
}

void native_complete_stack(struct native_decoder *decoder)
{
	native_update_stack(decoder);
	pop(decoder, decoder->stack_return);
	decoder->stack_return = false;
}

static void enter(struct native_decoder *decoder, struct native_node *node)
{
	decoder->node = node;
	if (__builtin_expect(!node, 0))
		fail_memory(decoder);
}

void native_go(struct native_decoder *decoder, uint64_t ip)
{
	enter(decoder, native_node_get(decoder->code, ip, decoder->mode));
}

void native_go_target(struct native_decoder *decoder, uint64_t ip)
{
	enter(decoder, native_target_get(decoder->code, ip, decoder->mode));
}

/* The node has no more code, but the packets say that it went on. */
static void dead_end(struct native_decoder *decoder, const struct native_node *node)
{
	bool missing = node->decision == NATIVE_NO_CODE;

	native_leave(decoder, node);
	native_gap(decoder, missing ? FLOW_GAP_CODE : FLOW_GAP_MISMATCH, node->stop_ip);
}

/* Leaves nodes that need no packet; NULL after a gap. Stubs do not count: whether code was forgotten must not show. */
static struct native_node *settle(struct native_decoder *decoder)
{
	for (unsigned i = 0; decoder->node; i++) {
		struct native_node *node = decoder->node;

		if (node->decision < NATIVE_CONTINUE)
			return node;
		if (node->decision > NATIVE_CONTINUE) {
			dead_end(decoder, node);
		} else if (i == NATIVE_LOOP_NODES) {
			native_gap(decoder, FLOW_GAP_MISMATCH, node->here.ip);
		} else {
			i -= node->stub;
			native_leave(decoder, node);
			enter(decoder, native_node_follow(decoder->code, node, 0));
		}
	}
	return NULL;
}

bool native_pass_far(struct native_decoder *decoder)
{
	struct native_node *node = decoder->node;

	for (unsigned i = 0; node && i < NATIVE_LOOP_NODES && node->decision == NATIVE_CONTINUE; i++)
		node = native_node_follow(decoder->code, node, 0);
	if (!node || node->decision != NATIVE_FAR)
		return false;
	node = settle(decoder);
	if (node)
		native_leave(decoder, node);
	return node;
}

/* The packet does not fit the branch at the node's end, which was executed all the same. */
static void mismatch(struct native_decoder *decoder, const struct native_node *node)
{
	const struct flow_block_run *run = &node->run.run;
	/* Without blocks: the code was changed under TNT bits that waited for a TIP. */
	const uint64_t from = run->count ? run->blocks[run->count - 1]->last_ip : node->here.ip;

	native_leave(decoder, node);
	native_gap(decoder, FLOW_GAP_MISMATCH, from);
}

/*
 * A return that a TNT bit tells of goes to the newest call that has not returned. If there is none, it was made in a
 * gap, or the packets do not fit.
 */
static void take_return(struct native_decoder *decoder, struct native_node *node, unsigned taken)
{
	uint64_t from = node->run.run.blocks[node->run.run.count - 1]->last_ip;

	native_leave(decoder, node);
	native_update_stack(decoder);
	decoder->stack_return = false;
	if (taken && !decoder->stack_count && decoder->heir)
		native_inherit(decoder);
	if (taken && !decoder->stack_count && decoder->lost_cause) {
		native_gap(decoder, decoder->lost_cause, decoder->lost_from);
		return;
	}
	if (!taken || !decoder->stack_count) {
		native_gap(decoder, FLOW_GAP_MISMATCH, from);
		return;
	}
	decoder->stack_count--;
	enter(decoder,
	      native_site_follow(decoder->code, decoder->stack[--decoder->stack_top % NATIVE_STACK], decoder->mode));
}

/* One bit, without memory of earlier ways; false: a TIP decides here, not a bit. */
static bool take_bit(struct native_decoder *decoder, unsigned taken)
{
	struct native_node *node = settle(decoder);

	if (!node)
		return true;
	if (node->decision == NATIVE_CONDITIONAL) {
		native_leave(decoder, node);
		enter(decoder, native_node_follow(decoder->code, node, taken));
	} else if (node->decision == NATIVE_RETURN) {
		take_return(decoder, node, taken);
	} else {
		return false;
	}
	return true;
}

/*
 * Bits are kept until the TIP of the branch that stands before theirs has come: a CPU may fill a TNT packet up before
 * it sends TIPs that belong into its middle (SDM, "Deferred TIPs").
 */
static void hold(struct native_decoder *decoder, uint64_t bits, unsigned count)
{
	decoder->held_bits = bits;
	decoder->held_count = (uint8_t)count;
	decoder->holding = true;
}

void native_drop_held(struct native_decoder *decoder, bool gap)
{
	struct native_node *node = decoder->node;

	decoder->holding = false;
	if (node && node->stub) {
		node = native_node_follow(decoder->code, node, 0);
		enter(decoder, node);
	}
	if (!node)
		return;
	if (gap) {
		mismatch(decoder, node);
	} else {
		native_leave(decoder, node);
		decoder->node = NULL;
	}
}

/* The way of key from the current node, from memory or not; NULL without memory. */
static const struct native_memo *find_way(struct native_decoder *decoder, uint32_t key)
{
	const struct native_memo *memo;

	if (native_memo_full(decoder->code))
		native_decoder_forget_ways(decoder);
	memo = native_memo_make(decoder->code, decoder->node, key);
	if (!memo)
		fail_memory(decoder);
	return memo;
}

/*
 * Takes as many bits as go by known ways of full length, and returns how many are left. What one step needs
 * of the step before is the entry's `to` alone: everything else runs ahead or behind.
 */
static unsigned take_known(struct native_decoder *decoder, uint64_t bits, unsigned count)
{
	const struct native_memo *table = decoder->code->memo;
	struct native_output *out = &decoder->out;
	uint64_t to = native_to(decoder->node);
	size_t room = out->run_count < out->run_limit ? out->run_limit - out->run_count : 0;
	const struct flow_block_run **runs = out->runs + out->run_count;
	uint64_t instructions = 0, blocks = 0, branches = 0;
	size_t steps = 0;

	while (count >= NATIVE_MEMO_BITS && steps < room) {
		uint32_t key = 1u << NATIVE_MEMO_BITS |
			       ((uint32_t)(bits >> (count - NATIVE_MEMO_BITS)) & ((1u << NATIVE_MEMO_BITS) - 1));
		const struct native_memo *memo = &table[(uint32_t)(to >> 48) ^ key];

		if (!native_memo_is_whole(memo, to))
			break;
		runs[steps++] = &native_memo_way(memo)->run;
		instructions += memo->instructions;
		blocks += memo->blocks;
		branches += memo->branches;
		to = memo->to;
		count -= NATIVE_MEMO_BITS;
	}
	out->run_count += steps;
	out->instructions += instructions;
	out->block_count += blocks;
	out->branches += branches;
	decoder->node = native_to_node(to);
	return count;
}

void native_take_bits(struct native_decoder *decoder, uint64_t bits, unsigned count)
{
	while (count && decoder->node) {
		const struct native_memo *memo;
		unsigned part;
		uint32_t key;

		if (count >= NATIVE_MEMO_BITS)
			count = take_known(decoder, bits, count);
		if (!count)
			break;
		/* Mostly a return to a call before this way: where it goes is not in any memory. */
		if (decoder->node->decision != NATIVE_CONDITIONAL) {
			if (!take_bit(decoder, bits >> (count - 1) & 1)) {
				hold(decoder, bits, count);
				return;
			}
			count--;
			continue;
		}
		part = count < NATIVE_MEMO_BITS ? count : NATIVE_MEMO_BITS;
		key = 1u << part | ((uint32_t)(bits >> (count - part)) & ((1u << part) - 1));
		memo = native_memo_slot(decoder->code, decoder->node, key);
		if (!native_memo_is(memo, decoder->node))
			memo = find_way(decoder, key);
		if (!memo)
			return;
		/* A node that is too long for any way. */
		if (!native_memo_used(memo)) {
			count--;
			take_bit(decoder, bits >> count & 1);
			continue;
		}
		native_output_counted(&decoder->out, native_memo_way(memo), memo->instructions, memo->blocks,
				      memo->branches);
		count -= native_memo_used(memo);
		decoder->node = native_to_node(memo->to);
	}
}

void native_take_target_slowly(struct native_decoder *decoder, uint64_t ip)
{
	struct native_node *node = settle(decoder);

	if (!node)
		return;
	if (node->decision == NATIVE_CONDITIONAL) {
		mismatch(decoder, node);
		return;
	}
	native_leave(decoder, node);
	enter(decoder, native_target_get(decoder->code, ip, decoder->mode));
}

/* Gives out one block; false without memory. */
static bool leave_block(struct native_decoder *decoder, const struct flow_block *block)
{
	const struct native_run *run = native_block_alone(decoder->code, block);

	if (run)
		native_output_run(&decoder->out, run);
	return run;
}

/* Gives out the node's blocks below `count` whole, and of the next one the part before ip. */
static bool leave_part(struct native_decoder *decoder, const struct native_node *node, uint32_t count, uint64_t ip)
{
	const struct flow_block *part;

	const struct flow_block *const *blocks = node->run.run.blocks;

	if (count == node->run.run.count) {
		native_leave(decoder, node);
		return true;
	}
	for (uint32_t i = 0; i < count; i++)
		if (!leave_block(decoder, blocks[i]))
			return false;
	if (blocks[count]->ip == ip)
		return true;
	part = native_block_part(decoder->code, blocks[count], blocks[count]->ip, ip);
	return part && leave_block(decoder, part);
}

static bool starts_instruction(const struct flow_block *block, uint64_t ip)
{
	uint64_t at = block->ip;

	if (ip - block->ip >= block->size)
		return false;
	for (uint32_t i = 0; i < block->instructions && at < ip; i++)
		at += block->lengths[i];
	return at == ip;
}

/* Looks for ip in the node; 1 found and left, 0 not there, -1 no memory. */
static int walk_in(struct native_decoder *decoder, const struct native_node *node, uint64_t ip)
{
	for (uint32_t i = 0; i < node->run.run.count; i++)
		if (starts_instruction(node->run.run.blocks[i], ip))
			return leave_part(decoder, node, i, ip) ? 1 : -1;
	/* Code that is missing does not matter if nothing of it was executed. */
	if (node->decision > NATIVE_CONTINUE && node->stop_ip == ip)
		return leave_part(decoder, node, node->run.run.count, ip) ? 1 : -1;
	return 0;
}

/*
 * What comes after a node was searched: found > 0 is there and left, 0 not there, < 0 no memory. Goes on to the next
 * node where no packet decides. 1: found; 0: look at the decoder's node; -1: it is not to be found, which has been
 * put out.
 */
static int pass_node(struct native_decoder *decoder, struct native_node *node, int found, uint64_t ip)
{
	if (found > 0)
		return 1;
	if (found < 0) {
		fail_memory(decoder);
	} else if (node->decision > NATIVE_CONTINUE) {
		dead_end(decoder, node);
	} else if (node->decision < NATIVE_CONTINUE) {
		native_gap(decoder, FLOW_GAP_MISMATCH, ip);
	} else {
		native_leave(decoder, node);
		enter(decoder, native_node_follow(decoder->code, node, 0));
		return 0;
	}
	return -1;
}

bool native_walk_to(struct native_decoder *decoder, uint64_t ip)
{
	for (unsigned i = 0; i < NATIVE_LOOP_NODES && decoder->node; i++) {
		struct native_node *node = decoder->node;
		const bool stub = node->stub;
		int passed = pass_node(decoder, node, walk_in(decoder, node, ip), ip);

		if (passed)
			return passed > 0;
		i -= stub;
	}
	if (decoder->node)
		native_gap(decoder, FLOW_GAP_MISMATCH, ip);
	return false;
}

/* 1: the node was left, with the instruction at ip as its last one; 0: it is another. */
static int walk_through_in(struct native_decoder *decoder, const struct native_node *node, uint64_t ip)
{
	const struct flow_block_run *run = &node->run.run;

	if (!run->count || run->blocks[run->count - 1]->last_ip != ip)
		return 0;
	native_leave(decoder, node);
	return 1;
}

bool native_walk_through(struct native_decoder *decoder, uint64_t ip)
{
	for (unsigned i = 0; i < NATIVE_LOOP_NODES && decoder->node; i++) {
		struct native_node *node = decoder->node;
		const bool stub = node->stub;
		int passed = pass_node(decoder, node, walk_through_in(decoder, node, ip), ip);

		if (passed)
			return passed > 0;
		i -= stub;
	}
	if (decoder->node)
		native_gap(decoder, FLOW_GAP_MISMATCH, ip);
	return false;
}

static bool holds(const struct native_node *node, uint64_t ip)
{
	for (uint32_t i = 0; i < node->run.run.count; i++)
		if (starts_instruction(node->run.run.blocks[i], ip))
			return true;
	return node->decision > NATIVE_CONTINUE && node->stop_ip == ip;
}

bool native_reaches(struct native_decoder *decoder, uint64_t ip)
{
	struct native_node *node = decoder->node;

	for (unsigned i = 0; i < NATIVE_LOOP_NODES && node; i++) {
		if (holds(node, ip))
			return true;
		if (node->decision != NATIVE_CONTINUE)
			return false;
		node = native_node_follow(decoder->code, node, 0);
	}
	return false;
}

/* Whether the branch at the end of block, if there is one, may have left what is traced. */
static bool leads_out(const struct flow_block *block, bool has_ip, uint64_t ip)
{
	switch (block->branch) {
	case FLOW_BRANCH_NONE:
		return false;
	case FLOW_BRANCH_FAR_CALL:
	case FLOW_BRANCH_FAR_RETURN:
	case FLOW_BRANCH_FAR_JUMP:
		return true;
	case FLOW_BRANCH_JUMP:
	case FLOW_BRANCH_CALL:
		return has_ip && block->target == ip;
	case FLOW_BRANCH_CONDITIONAL:
		return has_ip && (block->target == ip || block->ip + block->size == ip);
	default:
		/* A return or an indirect branch: without a TIP there is no other way on. */
		return true;
	}
}

/* 1: the node was left where packets stopped; 0: that is not in the node; -1 no memory. */
static int walk_out_in(struct native_decoder *decoder, struct native_node *node, bool has_ip, uint64_t ip)
{
	for (uint32_t i = 0; i < node->run.run.count; i++) {
		const struct flow_block *block = node->run.run.blocks[i];
		uint32_t paging = has_ip ? 0 : native_block_of(block)->paging;

		if (paging && paging != block->size)
			return leave_part(decoder, node, i, block->ip + paging) ? 1 : -1;
		if (!paging && !leads_out(block, has_ip, ip))
			continue;
		if (i + 1 == node->run.run.count) {
			node->out_known = has_ip;
			node->out_ip = ip;
			node->out_resume = native_resume_ip(block, has_ip, ip);
		} else if (block->branch && node->run.run.blocks[i + 1]) {
			return leave_part(decoder, node, i + 1, node->run.run.blocks[i + 1]->ip) ? 1 : -1;
		}
		native_leave(decoder, node);
		return 1;
	}
	/* Flow stopped right before code that is missing: nothing of that was executed. */
	if (has_ip && node->run.run.count && node->decision > NATIVE_CONTINUE && node->stop_ip == ip) {
		native_leave(decoder, node);
		return 1;
	}
	return 0;
}

bool native_walk_out(struct native_decoder *decoder, bool has_ip, uint64_t ip)
{
	for (unsigned i = 0; i < NATIVE_LOOP_NODES && decoder->node; i++) {
		struct native_node *node = decoder->node;
		const bool stub = node->stub;
		int passed;

		if (has_ip ? node->out_known && node->out_ip == ip
			   : node->decision == NATIVE_FAR && !(node->notable & NATIVE_WRITES_CR3)) {
			native_leave(decoder, node);
			return true;
		}
		passed = pass_node(decoder, node, walk_out_in(decoder, node, has_ip, ip), ip);
		if (passed)
			return passed > 0;
		i -= stub;
	}
	if (decoder->node)
		native_gap(decoder, FLOW_GAP_MISMATCH, ip);
	return false;
}
