/* SPDX-License-Identifier: BSD-2-Clause */
/* Gaps and resynchronisation; and what is read ahead for CPUs with errata. */
#ifndef FLOW_NATIVE_RESYNCHRONISE_H
#define FLOW_NATIVE_RESYNCHRONISE_H

#include "flow/native/decoder.h"
#include "format/pt/decode.h"

/*
 * Flow is lost at the packet at hand: a gap. It resumes at the next packet with an address. `from`: see flow_event, 0
 * for none.
 */
void native_gap(struct native_decoder *decoder, enum flow_gap_cause cause, uint64_t from);

/* The packet at hand is not allowed here: a gap. */
static inline void native_bad_packet(struct native_decoder *decoder)
{
	native_gap(decoder, FLOW_GAP_PACKET, 0);
}

/* The TIP or TIP.PGD of the FUP that waits is missing: flow is known up to the address of the FUP, and lost there. */
void native_end_at_fup(struct native_decoder *decoder);

/* Ends the flow of the segment with a gap, for bytes that are no packets: the last IP of what follows is unknown. */
void native_end(struct native_decoder *decoder, enum flow_gap_cause cause);

/* Flow resumes at ip. Calls before the gap are not on the return stack. */
void native_resume(struct native_decoder *decoder, uint64_t ip);

/* Whether there are only packets of time between `at` and the packet at hand. */
bool native_only_time(const struct native_decoder *decoder, const uint8_t *at);

/* Whether a FUP with an address follows at `at`, behind packets of time at most. */
bool native_fup_follows(const struct native_decoder *decoder, const uint8_t *at);

/* Where flow resumes behind the OVF at hand; false: packets are disabled there, or it is unknown. */
bool native_resumes_at(const struct native_decoder *decoder, uint64_t *ip);

/* APL12: whether packets are disabled behind `at`, by what follows there or in the next segment. */
bool native_is_disabled_at(const struct native_decoder *decoder, const uint8_t *at);

/* Decodes the packet at data, which lies in the segment. */
static inline int native_read(const struct native_decoder *decoder, const uint8_t *data, struct ptl_pt_context *context,
			      struct ptl_pt_packet *packet)
{
	return flow_errata_read(&decoder->errata, data, (size_t)(decoder->packets.end - data), context, packet);
}

#endif
