/* SPDX-License-Identifier: BSD-2-Clause */
/* Gaps: losing the flow and finding it again; and what is read ahead for CPUs with errata. */
#ifndef FLOW_NATIVE_RESYNCHRONISE_H
#define FLOW_NATIVE_RESYNCHRONISE_H

#include "flow/native/decoder.h"
#include "format/pt/decode.h"

/*
 * Flow is lost at the packet at hand: a gap. Packets are still read, and the next one with an address tells where
 * flow is again. `from`: see flow_event, 0 for none.
 */
void native_gap(struct native_decoder *decoder, enum flow_gap_cause cause, uint64_t from);

/* The packet at hand cannot be here: a gap. */
static inline void native_bad_packet(struct native_decoder *decoder)
{
	native_gap(decoder, FLOW_GAP_PACKET, 0);
}

/* The TIP or TIP.PGD of the pending FUP is missing: flow is known up to the FUP's address, and lost there. */
void native_end_at_fup(struct native_decoder *decoder);

/* Ends the segment's flow with a gap, for bytes that are no packets: what the next IP is relative to is not known. */
void native_end(struct native_decoder *decoder, enum flow_gap_cause cause);

/* Flow is known again: at ip. Calls before the gap, and in it, are not returned to by guessing. */
void native_resume(struct native_decoder *decoder, uint64_t ip);

/* Whether between `at` and the packet at hand no packet says anything of flow. */
bool native_only_time(const struct native_decoder *decoder, const uint8_t *at);

/* Whether a FUP with an address is what follows at `at`, but for packets of time. */
bool native_fup_follows(const struct native_decoder *decoder, const uint8_t *at);

/* Where flow goes on behind the OVF at hand; false: packets are disabled there, or there is no telling. */
bool native_resumes_at(const struct native_decoder *decoder, uint64_t *ip);

/* APL12: whether packets behind `at`, or the next segment, say that they are disabled there. */
bool native_is_disabled_at(const struct native_decoder *decoder, const uint8_t *at);

/* Decodes the packet at data, which lies in the segment. */
static inline int native_read(const struct native_decoder *decoder, const uint8_t *data, struct ptl_pt_context *context,
			      struct ptl_pt_packet *packet)
{
	return flow_errata_read(&decoder->errata, data, (size_t)(decoder->packets.end - data), context, packet);
}

#endif
