/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes several segments in turn: runs of TNT packets by the TNT16 cache, all other packets by the decoder. */
#include "flow/native/interleaved.h"

#include <stdlib.h>

#include "common/bytes.h"
#include "common/error.h"
#include "flow/native/interleaved_tnt.h"
#include "flow/native/resynchronise.h"

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

/* ---- packets ------------------------------------------------------------------------------------------------ */

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
	if (size < 0)
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

/* ---- all slots --------------------------------------------------------------------------------------------- */

int native_interleaved_open(struct native_interleaved **slots, struct native_decoder *first)
{
	struct native_interleaved *opened = calloc(NATIVE_INTERLEAVED, sizeof(*opened));
	int status = opened ? 0 : common_fail_memory("slots", NATIVE_INTERLEAVED * sizeof(*opened));

	for (size_t i = 0; !status && i < NATIVE_INTERLEAVED; i++)
		status = native_decoder_join(&opened[i].decoder, first);
	if (status < 0)
		native_interleaved_close(opened);
	else
		*slots = opened;
	return status;
}

void native_interleaved_close(struct native_interleaved *slots)
{
	for (size_t i = 0; slots && i < NATIVE_INTERLEAVED; i++)
		native_decoder_close(&slots[i].decoder);
	free(slots);
}

/* Decodes packets up to the next run of TNT packets. Returns false if the segment has ended. */
static bool advance_slot(struct native_interleaved *slot)
{
	while (native_decoder_read(&slot->decoder, slot)) {
		slot->counting = native_interleaved_tnt_begin(slot);
		if (slot->counting && !native_interleaved_tnt_goes_on(slot))
			native_interleaved_tnt_end(slot);
		else if (slot->counting)
			return true;
	}
	slot->counting = false;
	return false;
}

void native_interleaved_start(struct native_interleaved *slot)
{
	slot->refused = NULL;
	slot->busy = true;
	native_decoder_begin(&slot->decoder, &slot->input, &slot->sink);
	slot->counting = advance_slot(slot);
}

bool native_interleaved_done(struct native_interleaved *slot, int *status)
{
	if (!slot->busy || slot->counting)
		return false;
	slot->busy = false;
	*status = native_decoder_end(&slot->decoder, &slot->input);
	return true;
}

void native_interleaved_count(struct native_interleaved *slots)
{
	struct native_interleaved *counting[NATIVE_INTERLEAVED];
	unsigned count = 0;
	bool all = true;

	for (size_t i = 0; i < NATIVE_INTERLEAVED; i++)
		if (slots[i].counting)
			counting[count++] = &slots[i];
	/* until a segment ends */
	while (count && all) {
		native_interleaved_tnt_run(counting[0]->decoder.code, counting, count);
		for (unsigned i = 0; i < count; i++) {
			if (native_interleaved_tnt_goes_on(counting[i]))
				continue;
			native_interleaved_tnt_end(counting[i]);
			counting[i]->counting = advance_slot(counting[i]);
			all &= counting[i]->counting;
		}
	}
}
