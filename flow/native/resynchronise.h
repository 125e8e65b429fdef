/* SPDX-License-Identifier: BSD-2-Clause */
/* Gaps and resynchronisation, and reading ahead for CPUs with errata. */
#ifndef FLOW_NATIVE_RESYNCHRONISE_H
#define FLOW_NATIVE_RESYNCHRONISE_H

#include "flow/native/decoder.h"
#include "format/pt/decode.h"

/*
 * Adds a gap: flow is lost at the current packet, and resumes at the next packet with an address. from: see flow_event;
 * 0: no address.
 */
void native_gap(struct native_decoder *decoder, enum flow_gap_cause cause, uint64_t from);

/* Adds a gap: the current packet is not allowed here. */
static inline void native_bad_packet(struct native_decoder *decoder)
{
	native_gap(decoder, FLOW_GAP_PACKET, 0);
}

/* Handles a missing TIP or TIP.PGD after a FUP: flow is known up to the FUP's address, and lost there. */
void native_end_at_fup(struct native_decoder *decoder);

/* Ends the segment's flow with a gap, for bytes that are no packet: the last IP is unknown afterwards. */
void native_end(struct native_decoder *decoder, enum flow_gap_cause cause);

/* Resumes flow at ip. The calls before the gap are no longer on the return stack. */
void native_resume(struct native_decoder *decoder, uint64_t ip);

/* Checks whether only packets of time lie between `at` and the current packet. */
bool native_only_time(const struct native_decoder *decoder, const uint8_t *at);

/* Checks whether a FUP with an address follows `at`, possibly after packets of time. */
bool native_fup_follows(const struct native_decoder *decoder, const uint8_t *at);

/*
 * Finds the address where flow resumes after the current OVF. Returns false if packets are disabled there, or if the
 * address is unknown.
 */
bool native_resumes_at(const struct native_decoder *decoder, uint64_t *ip);

/* APL12: checks whether packets are disabled behind `at`, by the following packets or the next segment. */
bool native_is_disabled_at(const struct native_decoder *decoder, const uint8_t *at);

/* Decodes the packet at data, within the segment. */
static inline int native_read(const struct native_decoder *decoder, const uint8_t *data, struct ptl_pt_context *context,
			      struct ptl_pt_packet *packet)
{
	return flow_errata_read(&decoder->errata, data, (size_t)(decoder->packets.end - data), context, packet);
}

#endif
