/* SPDX-License-Identifier: BSD-2-Clause */
/* The truth: which instructions were executed, counted one by one, without the packets. */

#include <string.h>

#include "record/qemu/plugin/encoder.h"
#include "record/qemu/plugin/plugin.h"

/*
 * truth_started counts the instructions of truth_block whose callbacks came. One rule is applied
 * when the block is left: an instruction at which execution goes on was not carried out, unless it
 * is a branch that may lead to itself. So a fault, a write to the block's own page, and an
 * iteration of a repeat instruction leave their instruction out, and it is counted where it is
 * completed.
 */

static void store_head(struct qemu_slot *slot, uint64_t head)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	plugin_store_pair(&slot->truth_head, head, qemu_truth_mark(slot->pt_head, slot->tnt));
}

static void put_block(struct qemu_slot *slot, const struct plugin_block *block, uint64_t count)
{
	uint32_t *ring = plugin_slot_truth_ring(slot);
	uint64_t mask = plugin.config.truth_ring_size / 4 - 1;
	uint64_t head = slot->truth_head;

	if (head + 2 - __atomic_load_n(&slot->truth_tail, __ATOMIC_RELAXED) > mask)
		plugin_wait_for_room(slot, 2);
	if (count == block->count) {
		ring[head++ & mask] = block->number;
	} else if (count) {
		ring[head++ & mask] = block->number | QEMU_TRUTH_PARTIAL;
		ring[head++ & mask] = (uint32_t)count;
	}
	store_head(slot, head);
}

/* The address of the instruction that started last. */
static uint64_t last_started(const struct plugin_block *block, uint64_t started)
{
	return started == block->count ? block->last : plugin_block_address(block, started - 1);
}

static void leave(struct qemu_slot *slot, uint64_t next, bool did_not_retire)
{
	const struct plugin_block *block = (const struct plugin_block *)slot->truth_block;
	uint64_t started = slot->truth_started;
	bool may_repeat = started == block->count && plugin_block_may_repeat_last(block);

	if (started && last_started(block, started) == next && (did_not_retire || !may_repeat))
		started--;
	put_block(slot, block, started);
}

void plugin_truth_enter(struct qemu_slot *slot, struct plugin_block *block)
{
	if (slot->truth_block)
		leave(slot, block->start, false);
	else
		store_head(slot, slot->truth_head);
	slot->truth_started = 0;
	slot->truth_block = (uint64_t)block;
	slot->truth_number = block->number;
	slot->truth_count = block->count;
}

void plugin_truth_leave(struct qemu_slot *slot)
{
	const struct plugin_block *block = (const struct plugin_block *)slot->truth_block;

	/* QEMU carries out a call of the vsyscall page: no instruction there is executed. */
	if (block)
		put_block(slot, block, block->flags & PLUGIN_BLOCK_VSYSCALL ? 0 : slot->truth_started);
	slot->truth_block = 0;
	slot->truth_number = 0;
}

void plugin_truth_leave_at(struct qemu_slot *slot, uint64_t ip, bool synchronous)
{
	if (slot->truth_block)
		leave(slot, ip, synchronous);
	slot->truth_block = 0;
	slot->truth_number = 0;
}

void plugin_truth_define(struct qemu_slot *slot, const struct plugin_block *block)
{
	struct qemu_message_block message = {
		.header.type = QEMU_MSG_BLOCK,
		.number = block->number,
		.count = block->count,
	};
	uint64_t addresses[1024];
	uint64_t at = block->start;

	for (size_t i = 0; i < block->count && i < 1024; i++) {
		addresses[i] = at;
		at += block->lengths[i];
	}
	/* The recorder must have seen that a new program begins before the program's words are in
	 * the ring. */
	if (block->number == 1)
		plugin_request(slot, &message.header, sizeof(message), addresses, block->count * sizeof(addresses[0]));
	else
		plugin_send(slot, &message.header, sizeof(message), addresses, block->count * sizeof(addresses[0]));
}
