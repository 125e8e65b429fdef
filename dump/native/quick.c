/* SPDX-License-Identifier: BSD-2-Clause */
/* A loop over packets whose state is in registers: at most one branch that cannot be foretold for each. */
#include "dump/native/quick.h"

#include "common/bytes.h"
#include "dump/native/packet.h"
#include "format/pt_packet.h"

/* What the loop changes of the decoder and its output, and what it needs all the time. */
struct quick {
	const struct native_memo *memo;
	const struct native_target *targets;
	const uint8_t *at;
	uint64_t to; /* the node: see native_to; 0: none */
	uint64_t last_ip;
	uint64_t disabled_ip;
	const struct ptl_run **runs;
	struct ptl_flow_event *events;
	uint64_t instructions, blocks, branches;
};

static inline struct quick begin(const struct native_decoder *decoder)
{
	const struct native_output *out = &decoder->out;

	return (struct quick){
		.memo = decoder->code->memo,
		.targets = decoder->code->targets,
		.at = decoder->at,
		.to = decoder->node ? native_to(decoder->node) : 0,
		.last_ip = decoder->last_ip,
		.disabled_ip = decoder->disabled_ip,
		.runs = out->runs + out->run_count,
		.events = out->events + out->event_count,
		.instructions = out->instructions,
		.blocks = out->block_count,
		.branches = out->branches,
	};
}

static inline void end(struct native_decoder *decoder, const struct quick *quick)
{
	struct native_output *out = &decoder->out;

	decoder->at = quick->at;
	decoder->node = native_to_node(quick->to);
	decoder->last_ip = quick->last_ip;
	decoder->disabled_ip = quick->disabled_ip;
	out->run_count = (size_t)(quick->runs - out->runs);
	out->event_count = (size_t)(quick->events - out->events);
	out->instructions = quick->instructions;
	out->block_count = quick->blocks;
	out->branches = quick->branches;
}

/* Gives out all code of the node at hand. */
static inline void leave(struct quick *quick, const struct native_node *node)
{
	const struct native_run *run = &node->run;

	/* A run without blocks is overwritten by the next. */
	*quick->runs = &run->run;
	quick->runs += run->run.count != 0;
	quick->instructions += run->run.instructions;
	quick->blocks += run->run.count;
	quick->branches += run->run.branches;
}

static inline void put(struct native_decoder *decoder, struct quick *quick, uint8_t kind, uint8_t flags, uint64_t to)
{
	*quick->events++ = (struct ptl_flow_event){
		.kind = kind,
		.flags = flags,
		.before = quick->blocks,
		.time = decoder->out.time,
		.offset = decoder->offset + (uint64_t)(quick->at - decoder->begin),
		.to = to,
	};
}

/* A TNT-8, by memory of its way alone. */
static inline bool take_bits(struct quick *quick, uint32_t key)
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
} forms[8] = {
	[PTL_PT_IP_UPDATE_16] = {~0xffffull, 48},
	[PTL_PT_IP_UPDATE_32] = {~0xffffffffull, 32},
	[PTL_PT_IP_SIGN_48] = {0, 16},
	[PTL_PT_IP_UPDATE_48] = {~0xffffffffffffull, 16},
	[PTL_PT_IP_FULL] = {0, 0},
};

static inline uint64_t expand(const struct quick *quick, unsigned form)
{
	const unsigned shift = (unsigned)forms[form].shift;
	const uint64_t payload = (uint64_t)((int64_t)(ptl_load64(quick->at + 1) << shift) >> shift);

	return (quick->last_ip & forms[form].keep) | (payload & ~forms[form].keep);
}

/* A packet with an address; false: it is another, or its outcome is not known. */
static inline bool take_address(struct native_decoder *decoder, struct quick *quick, unsigned first)
{
	const unsigned form = first >> PTL_PT_IP_SHIFT;
	const unsigned size = ptl_pt_ip_size(form);
	const uint64_t ip = expand(quick, form);
	const struct native_target *target = &quick->targets[native_target_place(ip)];
	struct native_node *node = native_to_node(quick->to);

	if (!form || size > 8)
		return false;
	switch (first & 0x1f) {
	case PTL_PT_MATCH_TIP:
		if (!node || node->decision == NATIVE_CONDITIONAL || node->decision >= NATIVE_CONTINUE ||
		    !native_target_is(target, ip, decoder->mode))
			return false;
		leave(quick, node);
		quick->to = target->to;
		break;
	case PTL_PT_MATCH_TIP_PGE:
		if (node || decoder->place || !native_target_is(target, ip, decoder->mode))
			return false;
		put(decoder, quick, PTL_FLOW_ENABLED,
		    PTL_EVENT_HAS_TO | (quick->disabled_ip == ip ? PTL_EVENT_RESUMED : 0), ip);
		quick->to = target->to;
		break;
	case PTL_PT_MATCH_TIP_PGD:
		if (!node || !node->out_known || node->out_ip != ip)
			return false;
		leave(quick, node);
		put(decoder, quick, PTL_FLOW_DISABLED, PTL_EVENT_HAS_TO, ip);
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

/* One packet but PAD. */
static inline bool take_packet(struct native_decoder *decoder, struct quick *quick, unsigned first)
{
	if (first & 1)
		return take_address(decoder, quick, first);
	return first > PTL_PT_EXTENDED && quick->to && take_bits(quick, first >> 1);
}

void native_quick(struct native_decoder *decoder)
{
	const struct native_output *out = &decoder->out;
	const struct ptl_run **const runs_end = out->runs + out->run_limit;
	const struct ptl_flow_event *const events_end = out->events + NATIVE_BATCH_EVENTS;
	struct quick quick = begin(decoder);

	if (decoder->busy || decoder->context.bip_bytes || decoder->next_mode || decoder->paging_due ||
	    decoder->vmcs_due)
		return;
	while (decoder->end - quick.at > PTL_PT_PACKET_MAX && quick.runs < runs_end && quick.events < events_end) {
		uint64_t word = ptl_load64(quick.at);
		unsigned padding; /* bits */

		/* CPUs pad a lot, by any number of bytes: no branch a byte. */
		if (!word) {
			quick.at += 8;
			continue;
		}
		padding = (unsigned)__builtin_ctzll(word) & ~7u;
		quick.at += padding >> 3;
		if (!take_packet(decoder, &quick, word >> padding & 0xff))
			break;
	}
	end(decoder, &quick);
}
