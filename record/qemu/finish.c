/* SPDX-License-Identifier: BSD-2-Clause */
/* Completing the stream of a thread that was killed, from what it left in its slot. */

#include <errno.h>
#include <string.h>

#include "format/pt/encode.h"
#include "record/qemu/channel.h"

/* Pending TNT bits, FUP, TIP.PGD and to spare. */
#define FINISH_MAX 64u
#define TNT_BITS_MAX 47u

/* What the thread had committed: struct qemu_slot says how that is read off. */
struct last_state {
	uint64_t head;
	uint64_t tnt; /* without its tag */
	uint64_t block_ip;
	uint64_t mark; /* qemu_truth_mark() */
};

static struct last_state read_state(const struct qemu_slot *slot)
{
	struct last_state state = {slot->pt_head, slot->tnt >> QEMU_TNT_SHIFT, slot->block_ip,
				   qemu_truth_mark(slot->pt_head, slot->tnt)};

	if (slot->commit_head > state.head)
		return (struct last_state){slot->commit_head, 1, slot->commit_ip, ~slot->truth_mark};
	if ((slot->tnt & QEMU_TNT_TAG) == (slot->next_ip & QEMU_TNT_TAG))
		state.block_ip = slot->next_ip;
	return state;
}

static size_t write_end(uint8_t *out, const struct last_state *state)
{
	size_t size = 0;

	if (state->tnt > 1)
		size += format_pt_put_tnt(out + size, state->tnt);
	if (!state->block_ip)
		return size;
	/* In full: what the thread's last address was does not matter then. */
	size += format_pt_put_ip_form(out + size, FORMAT_PT_MATCH_FUP, PTL_PT_IP_FULL, state->block_ip);
	size += format_pt_put_tip_pgd_no_ip(out + size);
	return size;
}

/* The thread's packets for entering a block came first; it died before it noted that it had left
 * the last one. */
static int finish_truth(const struct qemu_channel *channel, struct qemu_slot *slot, uint64_t mark)
{
	uint64_t mask = channel->config.truth_ring_size / sizeof(uint32_t) - 1;
	uint64_t head = slot->truth_head;

	if (!channel->config.truth || !slot->truth_number || slot->truth_mark == mark)
		return 0;
	if (head - slot->truth_tail > mask)
		return -EAGAIN;

	uint32_t *ring = (uint32_t *)(void *)((uint8_t *)slot + qemu_slot_truth_ring(&channel->config));

	if (slot->truth_started == slot->truth_count)
		ring[head++ & mask] = slot->truth_number;
	__atomic_store_n(&slot->truth_head, head, __ATOMIC_RELEASE);
	return 0;
}

int qemu_channel_finish(const struct qemu_channel *channel, struct qemu_slot *slot)
{
	struct last_state state = read_state(slot);
	uint64_t size = channel->config.pt_ring_size;
	uint8_t *ring = (uint8_t *)slot + qemu_slot_pt_ring(&channel->config);
	uint8_t end[FINISH_MAX];
	size_t end_size;
	int status;

	if (slot->pt_lap % size || state.head < slot->pt_lap || state.head > slot->pt_lap + size + QEMU_PT_SLACK ||
	    slot->pt_tail > state.head || !state.tnt || state.tnt >> (TNT_BITS_MAX + 1))
		return -EPROTO;
	if (state.head + FINISH_MAX - slot->pt_tail > size)
		return -EAGAIN;
	status = finish_truth(channel, slot, state.mark);
	if (status)
		return status;
	if (state.head > slot->pt_lap + size) {
		memcpy(ring, ring + size, (size_t)(state.head - slot->pt_lap - size));
		slot->pt_lap += size;
	}
	end_size = write_end(end, &state);
	for (size_t i = 0; i < end_size; i++)
		ring[(state.head + i) & (size - 1)] = end[i];
	slot->tnt = 1u << QEMU_TNT_SHIFT;
	slot->next_ip = 0;
	slot->block_ip = 0;
	slot->pt_lap = (state.head + end_size) / size * size;
	__atomic_store_n(&slot->pt_head, state.head + end_size, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->status, QEMU_SLOT_ENDED, __ATOMIC_RELEASE);
	return 0;
}
