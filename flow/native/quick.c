/* SPDX-License-Identifier: BSD-2-Clause */
/* A loop over packets whose state is in registers, and over words of them where they are known. */
#include "flow/native/quick.h"

#include "flow/native/quick_word.h"
#include "flow/native/word.h"

static inline struct native_quick begin(const struct native_decoder *decoder)
{
	const struct native_output *out = &decoder->out;

	return (struct native_quick){
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

static inline void end(struct native_decoder *decoder, const struct native_quick *quick)
{
	struct native_output *out = &decoder->out;

	/* The mark that was due stands before the first of the new runs. */
	if (!out->run_limit && quick->runs != out->runs + out->run_count)
		native_output_turn(out);
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

/* Takes packets one by one. */
static inline void take_packets(struct native_decoder *decoder, struct native_quick *quick,
				const struct native_quick_ends *ends)
{
	while (decoder->end - quick->at > PTL_PT_PACKET_MAX && quick->runs < ends->runs &&
	       quick->events < ends->events) {
		uint64_t word = common_load64(quick->at);
		unsigned padding; /* bits */

		/* CPUs pad a lot, by any number of bytes: no branch a byte. */
		if (!word) {
			quick->at += 8;
			continue;
		}
		padding = (unsigned)__builtin_ctzll(word) & ~7u;
		quick->at += padding >> 3;
		if (!native_quick_take(decoder, quick, word >> padding & 0xff))
			break;
	}
}

/* Apart from native_quick, whose state stays in registers. */
static __attribute__((noinline)) void take_words(struct native_decoder *decoder, const struct native_quick_ends *ends)
{
	struct native_quick quick = begin(decoder);

	if (!native_words_open(&decoder->code->words))
		return;
	native_quick_words(decoder, &quick, ends);
	end(decoder, &quick);
}

void native_quick(struct native_decoder *decoder)
{
	const struct native_output *out = &decoder->out;
	const struct native_quick_ends ends = {out->runs + NATIVE_BATCH_RUNS, out->events + NATIVE_BATCH_EVENTS};
	struct native_words *words = &decoder->code->words;
	struct native_quick quick;

	if (decoder->busy || decoder->context.bip_bytes || decoder->next_mode || decoder->paging_due ||
	    decoder->vmcs_due || (!out->run_limit && out->mark_count == NATIVE_BATCH_EVENTS))
		return;
	if (words->rest <= 0 && (decoder->node || decoder->place == NATIVE_PLACE_KNOWN))
		take_words(decoder, &ends);
	quick = begin(decoder);
	take_packets(decoder, &quick, &ends);
	if (words->rest > 0)
		words->rest -= quick.at - decoder->at;
	end(decoder, &quick);
}
