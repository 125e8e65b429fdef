/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decodes one of the frequent packets, with the state in registers. Each packet has at most one unpredictable branch.
 */
#ifndef FLOW_NATIVE_FAST_PATH_PACKET_H
#define FLOW_NATIVE_FAST_PATH_PACKET_H

#include "common/bytes.h"
#include "flow/native/decoder.h"
#include "format/pt/packet.h"

/* The state of decoder and output that frequent packets change, and the caches needed for these packets. */
struct native_fast_path {
	const struct native_tnt_entry *tnt_cache;
	struct native_target_cache targets;
	const uint8_t *at;
	uint64_t to; /* the region as a number: see native_to; 0: no region */
	uint64_t last_ip;
	uint64_t disabled_ip;
	const struct flow_block_run **runs;
	struct flow_event *events;
	uint64_t instructions, blocks, branches;
};

/* The ends of the arrays of the batch. */
struct native_fast_path_ends {
	const struct flow_block_run *const *runs;
	const struct flow_event *events;
};

/* Adds all blocks of the region to the batch. */
static inline void native_fast_path_leave(struct native_fast_path *fast, const struct native_region *region)
{
	const struct native_run *run = &region->run;

	/* A run without blocks is overwritten by the next run. */
	*fast->runs = &run->run;
	fast->runs += run->run.count != 0;
	fast->instructions += run->run.instructions;
	fast->blocks += run->run.count;
	fast->branches += run->run.branches;
}

static inline void native_fast_path_put(struct native_decoder *decoder, struct native_fast_path *fast, uint8_t kind,
					uint8_t flags, uint64_t to)
{
	*fast->events++ = (struct flow_event){
		.kind = kind,
		.flags = flags,
		.before = fast->blocks,
		.time = decoder->out.time,
		.cycles = decoder->out.cycles,
		.offset = decoder->packets.offset + (uint64_t)(fast->at - decoder->packets.begin),
		.to = to,
	};
}

/* Follows a TNT-8 packet whose bits are in the TNT cache. Returns false if they are not. */
static inline bool native_fast_path_take_bits(struct native_fast_path *fast, uint32_t key)
{
	const struct native_tnt_entry *entry = &fast->tnt_cache[(uint32_t)(fast->to >> 48) ^ key];

	if (!native_tnt_entry_is_whole(entry, fast->to))
		return false;
	*fast->runs++ = &native_tnt_entry_run(entry)->run;
	fast->instructions += entry->instructions;
	fast->blocks += entry->blocks;
	fast->branches += entry->branches;
	fast->to = entry->to;
	fast->at++;
	return true;
}

/* By form of the address: bits kept from the last IP, and shift of the payload from the highest bit. */
static const struct {
	uint64_t keep;
	uint64_t shift;
} native_fast_path_forms[8] = {
	[PTL_PT_IP_UPDATE_16] = {~0xffffull, 48},
	[PTL_PT_IP_UPDATE_32] = {~0xffffffffull, 32},
	[PTL_PT_IP_SIGN_48] = {0, 16},
	[PTL_PT_IP_UPDATE_48] = {~0xffffffffffffull, 16},
	[PTL_PT_IP_FULL] = {0, 0},
};

static inline uint64_t native_fast_path_expand(const struct native_fast_path *fast, unsigned form)
{
	const unsigned shift = (unsigned)native_fast_path_forms[form].shift;
	const uint64_t payload = (uint64_t)((int64_t)(common_load64(fast->at + 1) << shift) >> shift);

	return (fast->last_ip & native_fast_path_forms[form].keep) | (payload & ~native_fast_path_forms[form].keep);
}

/* Handles a packet with an address. Returns false for another packet, or if the effect is not cached. */
static inline __attribute__((always_inline)) bool native_fast_path_take_address(struct native_decoder *decoder,
										struct native_fast_path *fast,
										unsigned first)
{
	const unsigned form = first >> FORMAT_PT_IP_SHIFT;
	const unsigned size = format_pt_ip_size(form);
	const uint64_t ip = native_fast_path_expand(fast, form);
	const struct native_target *target = native_target_slot(&fast->targets, ip);
	struct native_region *region = native_to_region(fast->to);

	if (!form || size > 8)
		return false;
	switch (first & FORMAT_PT_MASK_ADDRESS) {
	case FORMAT_PT_MATCH_TIP:
		if (!region || region->decision == NATIVE_CONDITIONAL || region->decision >= NATIVE_CONTINUE ||
		    !native_target_is(target, ip, decoder->mode))
			return false;
		native_fast_path_leave(fast, region);
		fast->to = target->to;
		break;
	case FORMAT_PT_MATCH_TIP_PGE:
		if (region || decoder->place || !native_target_is(target, ip, decoder->mode))
			return false;
		native_fast_path_put(decoder, fast, FLOW_ENABLED,
				     FLOW_EVENT_HAS_TO | (ip && fast->disabled_ip == ip ? FLOW_EVENT_RESUMED : 0), ip);
		fast->to = target->to;
		break;
	case FORMAT_PT_MATCH_TIP_PGD:
		if (!region || !region->out_known || region->out_ip != ip)
			return false;
		native_fast_path_leave(fast, region);
		native_fast_path_put(decoder, fast, FLOW_DISABLED, FLOW_EVENT_HAS_TO, ip);
		fast->disabled_ip = region->out_resume;
		fast->to = 0;
		break;
	default:
		return false;
	}
	fast->last_ip = ip;
	fast->at += 1 + size;
	return true;
}

/*
 * Handles one packet except PAD. first: first byte. Returns false, without any change, for another packet, or if the
 * effect is not cached.
 */
static inline bool native_fast_path_take(struct native_decoder *decoder, struct native_fast_path *fast, unsigned first)
{
	if (first & 1)
		return native_fast_path_take_address(decoder, fast, first);
	return first > FORMAT_PT_EXTENDED && fast->to && native_fast_path_take_bits(fast, first >> 1);
}

#endif
