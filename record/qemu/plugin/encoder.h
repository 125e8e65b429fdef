/* SPDX-License-Identifier: BSD-2-Clause */
/* The packet encoder: from the blocks a thread enters to Intel PT packets in its ring. */

#ifndef RECORD_QEMU_PLUGIN_ENCODER_H
#define RECORD_QEMU_PLUGIN_ENCODER_H

#include <emmintrin.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/qemu/plugin/block.h"
#include "record/qemu/shared/channel.h"

/* TNT bits are gathered until there are as many as the long TNT packet holds: then the stop bit is
 * at the top. */
#define PLUGIN_TNT_FULL (1ull << 47)

/* No step writes more bytes than this, so room for it is made sure of between steps. */
#define PLUGIN_STEP_MAX 512u

_Static_assert(PLUGIN_STEP_MAX <= QEMU_PT_SLACK, "a step that begins before the ring's end fits into the slack");

/*
 * The packets of one step from block to block (or out of user mode, or into it). They are written
 * at the cursor and become part of the stream, all of them at once, with plugin_step_commit(). A step
 * that writes packets flushes the TNT bits; if it writes none, pq_step_keep() ends it.
 */
struct plugin_step {
	struct qemu_slot *slot;
	const struct qemu_channel_config *config;
	uint8_t *at;
	uint64_t tnt; /* without the tag */
};

/*
 * Prepares a slot: an empty stream at position 0 in the ring at `ring`, packets disabled, nothing
 * due but the first PSB. All other fields of the encoder are zeroed.
 */
void plugin_encoder_start(struct qemu_slot *slot, const struct qemu_channel_config *config, uint8_t *ring);

/* The thread's clock, ns; never less than the last time the stream has shown. */
uint64_t plugin_encoder_now(struct qemu_slot *slot, const struct qemu_channel_config *config);

/*
 * Begins a step. In MTC and CYC mode it writes the time packets that precede the step's first
 * packet when that is written.
 */
struct plugin_step plugin_step_begin(struct qemu_slot *slot, const struct qemu_channel_config *config);

/* Adds a TNT bit; writes a packet if that makes enough of them. */
void plugin_step_tnt(struct plugin_step *step, bool taken);

/* Write the packet, and before it the pending TNT bits. */
void plugin_step_tip(struct plugin_step *step, uint64_t ip);
void plugin_step_fup(struct plugin_step *step, uint64_t ip);
void plugin_step_pgd(struct plugin_step *step);              /* no address: what follows is not in user mode */
void plugin_step_pge(struct plugin_step *step, uint64_t ip); /* and the time, as the timing mode wants it */

/* Writes the pending TNT bits, if any. */
void plugin_step_flush(struct plugin_step *step);

/* Position in the stream of the next byte the step will write. */
uint64_t plugin_step_position(const struct plugin_step *step);

/*
 * Writes PSB, TSC, TMA, CBR, MODE.Exec, FUP, PSBEND, as far as the mode has them; `time` is what
 * the TSC shows and ip the block that begins here, 0 if packets are disabled. Empties the return
 * stack.
 */
void plugin_step_psb(struct plugin_step *step, uint64_t time, uint64_t ip);

/*
 * The transition from `from`, executed wholly, to an address that plugin_block_leads_to() allows: a TNT
 * bit, a TIP, or nothing. Also counts the instructions and takes returns off the return stack.
 */
void plugin_step_transition(struct plugin_step *step, const struct plugin_block *from, uint64_t to);

/* Ends the step. block_ip is the block now executed, 0 if packets are disabled. */
void plugin_step_commit(struct plugin_step *step, uint64_t block_ip);

/* Moves what lies in the slack to the start of the ring, if the end of the ring was passed. */
void plugin_encoder_wrap(struct qemu_slot *slot, const struct qemu_channel_config *config);

/* Sets pt_limit from the next PSB, the end of the lap and the bytes the consumer has freed. */
void plugin_encoder_set_limit(struct qemu_slot *slot, const struct qemu_channel_config *config);

/* True if a step and a PSB fit into the ring without touching bytes not yet consumed. */
bool plugin_encoder_has_room(const struct qemu_slot *slot, const struct qemu_channel_config *config);

/* Keeps the compiler from reordering stores; the processor does not. */
#define PLUGIN_IN_ORDER() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* The state of a thread that is in the block at ip with these TNT bits pending; see struct qemu_slot
 * for the order. */
static inline void plugin_store_state(struct qemu_slot *slot, uint64_t tagged_tnt, uint64_t ip)
{
	slot->next_ip = ip;
	PLUGIN_IN_ORDER();
	slot->tnt = tagged_tnt;
	PLUGIN_IN_ORDER();
	slot->block_ip = ip;
}

/* Stores two neighbouring words at once; see struct qemu_slot. */
static inline void plugin_store_pair(uint64_t *pair, uint64_t first, uint64_t second)
{
	_mm_store_si128((__m128i *)(void *)pair, _mm_set_epi64x((long long)second, (long long)first));
}

/* What became of a block in the fast path. */
enum plugin_fast {
	PLUGIN_FAST_DONE,
	PLUGIN_FAST_TNT_FULL, /* done, but the TNT bits must be written: plugin_encoder_tnt_full() */
	PLUGIN_FAST_SLOW,     /* nothing was done: the slow path decides */
};

/*
 * Enters a block. This is executed for every block of the program (docs/software-source.md says
 * what it costs), so there is one branch that depends on the program, and it is hardly ever taken.
 * Instructions are counted only where they are the clock; `counted` is a constant.
 */
static inline __attribute__((always_inline)) enum plugin_fast plugin_encoder_fast(struct qemu_slot *slot,
										  struct plugin_block *block,
										  bool counted)
{
	const struct plugin_block *from = (const struct plugin_block *)slot->block;
	uint64_t key = block->key;
	uint64_t taken = key == from->taken;
	uint64_t not_taken = key == from->not_taken;

	/* Left alone, the compiler makes a branch of one of them, which is as hard to predict as
	 * the program's own. */
	__asm__("" : "+r"(taken), "+r"(not_taken));
	if (__builtin_expect(!(taken | not_taken), 0))
		return PLUGIN_FAST_SLOW;

	uint64_t low = taken << QEMU_TNT_SHIFT | (key & QEMU_TNT_TAG);
	uint64_t tnt = (slot->tnt & ~(uint64_t)QEMU_TNT_TAG) << from->shift | low;

	if (counted)
		slot->instructions += from->count;
	slot->block = (uint64_t)block;
	plugin_store_state(slot, tnt, key);
	return __builtin_expect((int64_t)tnt < 0, 0) ? PLUGIN_FAST_TNT_FULL : PLUGIN_FAST_DONE;
}

/* The same for what comes next in frequency: a return to where the return stack says. */
static inline __attribute__((always_inline)) enum plugin_fast plugin_encoder_return(struct qemu_slot *slot,
										    struct plugin_block *block,
										    bool counted)
{
	const struct plugin_block *from = (const struct plugin_block *)slot->block;
	uint64_t key = block->key;
	uint64_t depth = slot->return_top - slot->return_bottom;

	if (from->kind != QEMU_BLOCK_RETURN || depth - 1 >= QEMU_RETURN_STACK_SIZE ||
	    slot->return_stack[(slot->return_top - 1) % QEMU_RETURN_STACK_SIZE] != key)
		return PLUGIN_FAST_SLOW;

	uint64_t tnt = (slot->tnt & ~(uint64_t)QEMU_TNT_TAG) << 1 | 1u << QEMU_TNT_SHIFT | (key & QEMU_TNT_TAG);

	slot->return_top--;
	if (counted)
		slot->instructions += from->count;
	slot->block = (uint64_t)block;
	plugin_store_state(slot, tnt, key);
	return (int64_t)tnt < 0 ? PLUGIN_FAST_TNT_FULL : PLUGIN_FAST_DONE;
}

/*
 * A block that ends in a call has been entered, and nothing more is due before it is executed:
 * remembers where the call returns to. If the block is left before its call,
 * plugin_encoder_forget_call() takes that back.
 */
static inline void plugin_encoder_expect_call(struct qemu_slot *slot, const struct plugin_block *block)
{
	slot->return_stack[slot->return_top++ % QEMU_RETURN_STACK_SIZE] = block->end;
}

static inline void plugin_encoder_forget_call(struct qemu_slot *slot, const struct plugin_block *block)
{
	slot->return_top -= block->pushes;
}

/* Writes a full TNT. Returns true if pt_limit was passed, so that there is work between steps. */
bool plugin_encoder_tnt_full(struct qemu_slot *slot, const struct qemu_channel_config *config);

#endif
