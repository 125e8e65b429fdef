/* SPDX-License-Identifier: BSD-2-Clause */
/* One of the frequent packets, with what it changes in registers: at most one branch that cannot be foretold for each. */
#ifndef FLOW_NATIVE_QUICK_PACKET_H
#define FLOW_NATIVE_QUICK_PACKET_H

#include "common/bytes.h"
#include "flow/native/decoder.h"
#include "format/pt/packet.h"

/* What these packets change of the decoder and its output, and what they need all the time. */
struct native_quick {
	const struct native_memo *memo;
	const struct native_target *targets;
	const uint8_t *at;
	uint64_t to; /* the node: see native_to; 0: none */
	uint64_t last_ip;
	uint64_t disabled_ip;
	const struct flow_block_run **runs;
	struct flow_event *events;
	uint64_t instructions, blocks, branches;
};

/* Of the batch: there is room before these. */
struct native_quick_ends {
	const struct flow_block_run *const *runs;
	const struct flow_event *events;
};

/* Gives out all code of the node at hand. */
static inline void native_quick_leave(struct native_quick *quick, const struct native_node *node)
{
	const struct native_run *run = &node->run;

	/* A run without blocks is overwritten by the next. */
	*quick->runs = &run->run;
	quick->runs += run->run.count != 0;
	quick->instructions += run->run.instructions;
	quick->blocks += run->run.count;
	quick->branches += run->run.branches;
}

static inline void native_quick_put(struct native_decoder *decoder, struct native_quick *quick, uint8_t kind,
				    uint8_t flags, uint64_t to)
{
	*quick->events++ = (struct flow_event){
		.kind = kind,
		.flags = flags,
		.before = quick->blocks,
		.time = decoder->out.time,
		.offset = decoder->offset + (uint64_t)(quick->at - decoder->begin),
		.to = to,
	};
}

/* A TNT-8, by memory of its way alone. */
static inline bool native_quick_take_bits(struct native_quick *quick, uint32_t key)
{
	const struct native_memo *memo = &quick->memo[(uint32_t)(quick->to >> 48) ^ key];

	if (!native_memo_is_whole(memo, quick->to))
		return false;
	*quick->runs++ = &native_memo_way(memo)->run;
	quick->instructions += memo->instructions;
	quick->blocks += memo->blocks;
	quick->branches += memo->branches;
	quick->to = memo->to;
	quick->at++;
	return true;
}

/* By form: how far a payload is from the highest bit, and what stays of the last IP. */
static const struct {
	uint64_t keep;
	uint64_t shift;
} native_quick_forms[8] = {
	[PTL_PT_IP_UPDATE_16] = {~0xffffull, 48},
	[PTL_PT_IP_UPDATE_32] = {~0xffffffffull, 32},
	[PTL_PT_IP_SIGN_48] = {0, 16},
	[PTL_PT_IP_UPDATE_48] = {~0xffffffffffffull, 16},
	[PTL_PT_IP_FULL] = {0, 0},
};

static inline uint64_t native_quick_expand(const struct native_quick *quick, unsigned form)
{
	const unsigned shift = (unsigned)native_quick_forms[form].shift;
	const uint64_t payload = (uint64_t)((int64_t)(common_load64(quick->at + 1) << shift) >> shift);

	return (quick->last_ip & native_quick_forms[form].keep) | (payload & ~native_quick_forms[form].keep);
}

/* A packet with an address; false: it is another, or its outcome is not known. */
static inline __attribute__((always_inline)) bool native_quick_take_address(struct native_decoder *decoder,
									    struct native_quick *quick, unsigned first)
{
	const unsigned form = first >> FORMAT_PT_IP_SHIFT;
	const unsigned size = format_pt_ip_size(form);
	const uint64_t ip = native_quick_expand(quick, form);
	const struct native_target *target = &quick->targets[native_target_place(ip)];
	struct native_node *node = native_to_node(quick->to);

	if (!form || size > 8)
		return false;
	switch (first & 0x1f) {
	case FORMAT_PT_MATCH_TIP:
		if (!node || node->decision == NATIVE_CONDITIONAL || node->decision >= NATIVE_CONTINUE ||
		    !native_target_is(target, ip, decoder->mode))
			return false;
		native_quick_leave(quick, node);
		quick->to = target->to;
		break;
	case FORMAT_PT_MATCH_TIP_PGE:
		if (node || decoder->place || !native_target_is(target, ip, decoder->mode))
			return false;
		native_quick_put(decoder, quick, FLOW_ENABLED,
				 FLOW_EVENT_HAS_TO | (ip && quick->disabled_ip == ip ? FLOW_EVENT_RESUMED : 0), ip);
		quick->to = target->to;
		break;
	case FORMAT_PT_MATCH_TIP_PGD:
		if (!node || !node->out_known || node->out_ip != ip)
			return false;
		native_quick_leave(quick, node);
		native_quick_put(decoder, quick, FLOW_DISABLED, FLOW_EVENT_HAS_TO, ip);
		quick->disabled_ip = node->out_resume;
		quick->to = 0;
		break;
	default:
		return false;
	}
	quick->last_ip = ip;
	quick->at += 1 + size;
	return true;
}

/*
 * One packet but PAD, of which `first` is the first byte; false: nothing is done, as it is another or its outcome is not
 * known.
 */
static inline bool native_quick_take(struct native_decoder *decoder, struct native_quick *quick, unsigned first)
{
	if (first & 1)
		return native_quick_take_address(decoder, quick, first);
	return first > FORMAT_PT_EXTENDED && quick->to && native_quick_take_bits(quick, first >> 1);
}

#endif
