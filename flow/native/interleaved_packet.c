/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets of an interleaved segment, between the decoder and the TNT16 cache. */
#include "flow/native/interleaved_packet.h"

#include "common/bytes.h"
#include "flow/native/gap.h"

#define AHEAD 4 /* number of consecutive TNT-64 packets that make the TNT16 cache worthwhile */

/* Checks whether AHEAD full TNT-64 packets follow, with no other packets except MTC. */
static bool is_dense(const uint8_t *at, const uint8_t *end)
{
	unsigned found = 0;

	while (found < AHEAD && end - at > PTL_PT_PACKET_MAX) {
		const uint64_t word = common_load64(at);
		const bool full = native_is_full_tnt(word);

		if (!full && !native_is_mtc(word))
			return false;
		found += full;
		at += full ? FORMAT_PT_SIZE_TNT_64 : FORMAT_PT_SIZE_MTC;
	}
	return found == AHEAD;
}

bool native_interleaved_ready(const struct native_interleaved *slot)
{
	const struct native_decoder *decoder = &slot->decoder;
	const uint8_t *at = decoder->packets.at;

	if (at < slot->refused || decoder->packets.end - at <= AHEAD * 8 + PTL_PT_PACKET_MAX || !decoder->region ||
	    !decoder->region->run.run.count || decoder->busy || decoder->packets.context.bip_bytes)
		return false;
	return slot->eager || (native_is_full_tnt(common_load64(at)) && is_dense(at, decoder->packets.end));
}

int native_interleaved_packet(struct native_interleaved *slot, const uint8_t *at, struct ptl_pt_packet *packet)
{
	struct native_decoder *decoder = &slot->decoder;
	/*
	 * A packet left to the decoder must not change the context. The packets handled here never change the context.
	 */
	struct ptl_pt_context context = decoder->packets.context;
	int size;

	packet->kind = PTL_PT_PAD;
	size = native_read(decoder, at, &context, packet);
	if (size < 0 || decoder->guest.own_tsc)
		return 0;
	switch (packet->kind) {
	case PTL_PT_PAD:
	case PTL_PT_TNT_8:
	case PTL_PT_TNT_64:
		return size;
	case PTL_PT_TSC:
	case PTL_PT_TMA:
	case PTL_PT_MTC:
	case PTL_PT_CYC:
		flow_clock_settle(&slot->clock);
		flow_clock_packet(&slot->clock, packet);
		return size;
	default:
		return 0;
	}
}

void native_interleaved_give_back(struct native_interleaved *slot, const uint8_t *behind)
{
	struct native_decoder *decoder = &slot->decoder;
	uint64_t time;

	decoder->out.instructions += slot->instructions;
	decoder->out.branches += slot->blocks;
	decoder->out.counted_blocks += slot->blocks;
	decoder->packets.at = behind;
	flow_clock_settle(&slot->clock);
	decoder->clock = slot->clock;
	decoder->out.cycles = decoder->clock.counted;
	time = flow_clock_time(&decoder->clock);
	if (time)
		native_output_time(&decoder->out, time);
}
