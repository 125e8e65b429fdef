/* SPDX-License-Identifier: BSD-2-Clause */
/* The packet encoder: from the blocks a thread enters to Intel PT packets in its ring. */

#ifndef PTL_RECORD_QEMU_PLUGIN_ENCODER_H
#define PTL_RECORD_QEMU_PLUGIN_ENCODER_H

#include <emmintrin.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/qemu/plugin/block.h"
#include "record/qemu/shared/channel.h"

/* TNT bits are gathered until there are as many as the long TNT packet holds: then the stop bit is
 * at the top. */
#define PQ_TNT_FULL (1ull << 47)

/* No step writes more bytes than this, so room for it is made sure of between steps. */
#define PQ_STEP_MAX 512u

_Static_assert(PQ_STEP_MAX <= PTL_PT_SLACK,
	       "a step that begins before the ring's end fits into the slack");

/*
 * The packets of one step from block to block (or out of user mode, or into it). They are written
 * at the cursor and become part of the stream, all of them at once, with pq_step_commit(). A step
 * that writes packets flushes the TNT bits; if it writes none, pq_step_keep() ends it.
 */
struct pq_step {
	struct ptl_slot *slot;
	const struct ptl_channel_config *config;
	uint8_t *at;
	uint64_t tnt; /* without the tag */
};

/*
 * Prepares a slot: an empty stream at position 0 in the ring at `ring`, packets disabled, nothing
 * due but the first PSB. All other fields of the encoder are zeroed.
 */
void pq_encoder_start(struct ptl_slot *slot, const struct ptl_channel_config *config,
		      uint8_t *ring);

/* The thread's clock, ns; never less than the last time the stream has shown. */
uint64_t pq_encoder_now(struct ptl_slot *slot, const struct ptl_channel_config *config);

/*
 * Begins a step. In MTC and CYC mode it writes the time packets that precede the step's first
 * packet when that is written.
 */
struct pq_step pq_step_begin(struct ptl_slot *slot, const struct ptl_channel_config *config);

/* Adds a TNT bit; writes a packet if that makes enough of them. */
void pq_step_tnt(struct pq_step *step, bool taken);

/* Write the packet, and before it the pending TNT bits. */
void pq_step_tip(struct pq_step *step, uint64_t ip);
void pq_step_fup(struct pq_step *step, uint64_t ip);
void pq_step_pgd(struct pq_step *step); /* no address: what follows is not in user mode */
void pq_step_pge(struct pq_step *step, uint64_t ip); /* and the time, as the timing mode wants it */

/* Writes the pending TNT bits, if any. */
void pq_step_flush(struct pq_step *step);

/* Position in the stream of the next byte the step will write. */
uint64_t pq_step_position(const struct pq_step *step);

/*
 * Writes PSB, TSC, TMA, CBR, MODE.Exec, FUP, PSBEND, as far as the mode has them; `time` is what
 * the TSC shows and ip the block that begins here, 0 if packets are disabled. Empties the return
 * stack.
 */
void pq_step_psb(struct pq_step *step, uint64_t time, uint64_t ip);

/*
 * The transition from `from`, executed wholly, to an address that pq_block_leads_to() allows: a TNT
 * bit, a TIP, or nothing. Also counts the instructions and takes returns off the return stack.
 */
void pq_step_transition(struct pq_step *step, const struct pq_block *from, uint64_t to);

/* Ends the step. block_ip is the block now executed, 0 if packets are disabled. */
void pq_step_commit(struct pq_step *step, uint64_t block_ip);

/* Moves what lies in the slack to the start of the ring, if the end of the ring was passed. */
void pq_encoder_wrap(struct ptl_slot *slot, const struct ptl_channel_config *config);

/* Sets pt_limit from the next PSB, the end of the lap and the bytes the consumer has freed. */
void pq_encoder_set_limit(struct ptl_slot *slot, const struct ptl_channel_config *config);

/* True if a step and a PSB fit into the ring without touching bytes not yet consumed. */
bool pq_encoder_has_room(const struct ptl_slot *slot, const struct ptl_channel_config *config);

/* Keeps the compiler from reordering stores; the processor does not. */
#define PQ_IN_ORDER() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* The state of a thread that is in the block at ip with these TNT bits pending; see struct ptl_slot
 * for the order. */
static inline void pq_store_state(struct ptl_slot *slot, uint64_t tagged_tnt, uint64_t ip)
{
	slot->next_ip = ip;
	PQ_IN_ORDER();
	slot->tnt = tagged_tnt;
	PQ_IN_ORDER();
	slot->block_ip = ip;
}

/* Stores two neighbouring words at once; see struct ptl_slot. */
static inline void pq_store_pair(uint64_t *pair, uint64_t first, uint64_t second)
{
	_mm_store_si128((__m128i *)(void *)pair,
			_mm_set_epi64x((long long)second, (long long)first));
}

/* What became of a block in the fast path. */
enum pq_fast {
	PQ_FAST_DONE,
	PQ_FAST_TNT_FULL, /* done, but the TNT bits must be written: pq_encoder_tnt_full() */
	PQ_FAST_SLOW,     /* nothing was done: the slow path decides */
};

/*
 * Enters a block. This is executed for every block of the program (docs/software-source.md tells
 * what it costs), so there is one branch that depends on the program, and it is hardly ever taken.
 * Instructions are counted only where they are the clock; `counted` is a constant.
 */
static inline __attribute__((always_inline)) enum pq_fast pq_encoder_fast(struct ptl_slot *slot,
									  struct pq_block *block,
									  bool counted)
{
	const struct pq_block *from = (const struct pq_block *)slot->block;
	uint64_t key = block->key;
	uint64_t taken = key == from->taken;
	uint64_t not_taken = key == from->not_taken;

	/* Left alone, the compiler makes a branch of one of them, which is as hard to predict as
	 * the program's own. */
	__asm__("" : "+r"(taken), "+r"(not_taken));
	if (__builtin_expect(!(taken | not_taken), 0))
		return PQ_FAST_SLOW;

	uint64_t low = taken << PTL_TNT_SHIFT | (key & PTL_TNT_TAG);
	uint64_t tnt = (slot->tnt & ~(uint64_t)PTL_TNT_TAG) << from->shift | low;

	if (counted)
		slot->instructions += from->count;
	slot->block = (uint64_t)block;
	pq_store_state(slot, tnt, key);
	return __builtin_expect((int64_t)tnt < 0, 0) ? PQ_FAST_TNT_FULL : PQ_FAST_DONE;
}

/* The same for what comes next in frequency: a return to where the return stack says. */
static inline __attribute__((always_inline)) enum pq_fast pq_encoder_return(struct ptl_slot *slot,
									    struct pq_block *block,
									    bool counted)
{
	const struct pq_block *from = (const struct pq_block *)slot->block;
	uint64_t key = block->key;
	uint64_t depth = slot->return_top - slot->return_bottom;

	if (from->kind != PTL_BLOCK_RETURN || depth - 1 >= PTL_RETURN_STACK_SIZE ||
	    slot->return_stack[(slot->return_top - 1) % PTL_RETURN_STACK_SIZE] != key)
		return PQ_FAST_SLOW;

	uint64_t tnt = (slot->tnt & ~(uint64_t)PTL_TNT_TAG) << 1 | 1u << PTL_TNT_SHIFT |
		       (key & PTL_TNT_TAG);

	slot->return_top--;
	if (counted)
		slot->instructions += from->count;
	slot->block = (uint64_t)block;
	pq_store_state(slot, tnt, key);
	return (int64_t)tnt < 0 ? PQ_FAST_TNT_FULL : PQ_FAST_DONE;
}

/*
 * A block that ends in a call has been entered, and nothing more is due before it is executed:
 * remembers where the call returns to. If the block is left before its call,
 * pq_encoder_forget_call() takes that back.
 */
static inline void pq_encoder_expect_call(struct ptl_slot *slot, const struct pq_block *block)
{
	slot->return_stack[slot->return_top++ % PTL_RETURN_STACK_SIZE] = block->end;
}

static inline void pq_encoder_forget_call(struct ptl_slot *slot, const struct pq_block *block)
{
	slot->return_top -= block->pushes;
}

/* Writes a full TNT. Returns true if pt_limit was passed, so that there is work between steps. */
bool pq_encoder_tnt_full(struct ptl_slot *slot, const struct ptl_channel_config *config);

#endif
