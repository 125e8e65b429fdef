/* SPDX-License-Identifier: BSD-2-Clause */
/* Lanes as a whole: which of them count, by what, and what is decoded otherwise. */
#include "flow/native/lane.h"

#include <stdlib.h>

#include "common/bytes.h"
#include "common/error.h"
#include "flow/native/lane_ways.h"
#include "flow/native/lost.h"

#define AHEAD 4 /* TNT packets of 64 bits in a row that promise more */

/* Whether there are so many whole TNT-64 packets before anything else but MTC packets. */
static bool is_dense(const uint8_t *at, const uint8_t *end)
{
	unsigned found = 0;

	while (found < AHEAD && end - at > PTL_PT_PACKET_MAX) {
		const uint64_t word = common_load64(at);
		const bool full = native_is_full(word);

		if (!full && !native_is_mtc(word))
			return false;
		found += full;
		at += full ? 8 : 2;
	}
	return found == AHEAD;
}

bool native_lane_ready(const struct native_lane *lane)
{
	const struct native_decoder *decoder = &lane->decoder;
	const uint8_t *at = decoder->at;

	if (at < lane->refused || decoder->end - at <= AHEAD * 8 + PTL_PT_PACKET_MAX || !decoder->node ||
	    decoder->busy || decoder->context.bip_bytes)
		return false;
	return lane->eager || (native_is_full(common_load64(at)) && is_dense(at, decoder->end));
}

/* ---- packets ------------------------------------------------------------------------------------------------ */

int native_lane_packet(struct native_lane *lane, const uint8_t *at, struct ptl_pt_packet *packet)
{
	struct native_decoder *decoder = &lane->decoder;
	/* A packet that is left to the decoder changes nothing; those that are taken never do. */
	struct ptl_pt_context context = decoder->context;
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
		flow_clock_settle(&lane->clock);
		flow_clock_packet(&lane->clock, packet);
		return size;
	default:
		return 0;
	}
}

void native_lane_give_back(struct native_lane *lane, const uint8_t *behind)
{
	struct native_decoder *decoder = &lane->decoder;
	uint64_t time;

	decoder->out.instructions += lane->instructions;
	decoder->out.branches += lane->blocks;
	decoder->out.block_count += lane->blocks;
	decoder->at = behind;
	flow_clock_settle(&lane->clock);
	decoder->clock = lane->clock;
	time = flow_clock_time(&decoder->clock);
	if (time)
		native_output_time(&decoder->out, time);
}

/* ---- all lanes --------------------------------------------------------------------------------------------- */

int native_lanes_open(struct native_lane **lanes, struct native_decoder *first)
{
	struct native_lane *opened = calloc(NATIVE_LANES, sizeof(*opened));
	int status = opened ? 0 : common_fail_memory("lanes", NATIVE_LANES * sizeof(*opened));

	for (size_t i = 0; !status && i < NATIVE_LANES; i++)
		status = native_decoder_join(&opened[i].decoder, first);
	if (status < 0)
		native_lanes_close(opened);
	else
		*lanes = opened;
	return status;
}

void native_lanes_close(struct native_lane *lanes)
{
	for (size_t i = 0; lanes && i < NATIVE_LANES; i++)
		native_decoder_close(&lanes[i].decoder);
	free(lanes);
}

/* Ordinary packets up to the next bits that are to be counted; false: the segment is done. */
static bool advance(struct native_lane *lane)
{
	while (native_decoder_read(&lane->decoder, lane)) {
		lane->counting = native_leaps_lane_begin(lane);
		if (lane->counting && !native_leaps_lane_goes_on(lane))
			native_leaps_lane_end(lane);
		else if (lane->counting)
			return true;
	}
	lane->counting = false;
	return false;
}

void native_lane_start(struct native_lane *lane)
{
	lane->refused = NULL;
	lane->busy = true;
	native_decoder_begin(&lane->decoder, &lane->input, &lane->sink);
	lane->counting = advance(lane);
}

bool native_lane_done(struct native_lane *lane, int *status)
{
	if (!lane->busy || lane->counting)
		return false;
	lane->busy = false;
	*status = native_decoder_end(&lane->decoder, &lane->input);
	return true;
}

void native_lanes_count(struct native_lane *lanes)
{
	struct native_lane *counting[NATIVE_LANES];
	unsigned count = 0;
	bool all = true;

	for (size_t i = 0; i < NATIVE_LANES; i++)
		if (lanes[i].counting)
			counting[count++] = &lanes[i];
	/* Until one of them is at its segment's end. */
	while (count && all) {
		native_leaps_lanes_run(counting[0]->decoder.code, counting, count);
		for (unsigned i = 0; i < count; i++) {
			if (native_leaps_lane_goes_on(counting[i]))
				continue;
			native_leaps_lane_end(counting[i]);
			counting[i]->counting = advance(counting[i]);
			all &= counting[i]->counting;
		}
	}
}
