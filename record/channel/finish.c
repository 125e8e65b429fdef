/* SPDX-License-Identifier: BSD-2-Clause */
/* Completes the stream of a killed thread from the data in its slot. */

#include <errno.h>
#include <string.h>

#include "record/channel/channel.h"

int channel_finish(const struct channel *channel, struct channel_slot *slot)
{
	uint64_t size = channel->config.pt_ring_size;
	uint8_t *ring = (uint8_t *)slot + channel_slot_pt_ring(&channel->config);
	/* Reads each value once: another traced program may write to the arena at any time. */
	const uint64_t head = __atomic_load_n(&slot->pt_head, __ATOMIC_RELAXED);
	const uint64_t tail = __atomic_load_n(&slot->pt_tail, __ATOMIC_RELAXED);
	const uint64_t lap = __atomic_load_n(&slot->pt_lap, __ATOMIC_RELAXED);

	if (lap % size || head < lap || head > lap + size + CHANNEL_PT_SLACK || tail > head)
		return -EPROTO;
	if (head - tail > size)
		return -EAGAIN;
	if (head > lap + size) {
		memcpy(ring, ring + size, (size_t)(head - lap - size));
		slot->pt_lap = lap + size;
	}
	__atomic_store_n(&slot->status, CHANNEL_SLOT_ENDED, __ATOMIC_RELEASE);
	return 0;
}
