/* SPDX-License-Identifier: BSD-2-Clause */
/* A loop over frequent packets, with the state in registers, and over known packet words. */
#include "flow/native/fast_path.h"

#include "flow/native/cache/packet_word.h"
#include "flow/native/fast_path_word.h"

static inline struct native_fast_path begin_fast_path(const struct native_decoder *decoder)
{
	const struct native_output *out = &decoder->out;

	return (struct native_fast_path){
		.tnt_cache = decoder->code->tnt_cache.entries,
		.targets = decoder->code->targets,
		.at = decoder->packets.at,
		.to = decoder->region ? native_to(decoder->region) : 0,
		.last_ip = decoder->packets.last_ip,
		.disabled_ip = decoder->disabled_ip,
		.runs = out->runs + out->run_count,
		.events = out->events + out->event_count,
		.instructions = out->instructions,
		.blocks = out->block_count,
		.branches = out->branches,
	};
}

static inline void end_fast_path(struct native_decoder *decoder, const struct native_fast_path *fast)
{
	struct native_output *out = &decoder->out;

	/* The due mark stands before the first of the new runs. */
	if (!out->run_limit && fast->runs != out->runs + out->run_count)
		native_output_turn(out);
	decoder->packets.at = fast->at;
	decoder->region = native_to_region(fast->to);
	decoder->packets.last_ip = fast->last_ip;
	decoder->disabled_ip = fast->disabled_ip;
	out->run_count = (size_t)(fast->runs - out->runs);
	out->event_count = (size_t)(fast->events - out->events);
	out->instructions = fast->instructions;
	out->block_count = fast->blocks;
	out->branches = fast->branches;
}

/* Decodes packets one by one. */
static inline void take_packets(struct native_decoder *decoder, struct native_fast_path *fast,
				const struct native_fast_path_ends *ends)
{
	while (decoder->packets.end - fast->at > PTL_PT_PACKET_MAX && fast->runs < ends->runs &&
	       fast->events < ends->events) {
		uint64_t word = common_load64(fast->at);
		unsigned padding; /* number of padding bits */

		/* CPUs pad by any number of bytes. Skipping all padding at once avoids a branch for each byte. */
		if (!word) {
			fast->at += 8;
			continue;
		}
		padding = (unsigned)__builtin_ctzll(word) & ~7u;
		fast->at += padding >> 3;
		if (!native_fast_path_take(decoder, fast, word >> padding & 0xff))
			break;
	}
}

/* Never inlined into native_fast_path, to keep that function's state in registers. */
static __attribute__((noinline)) void take_words(struct native_decoder *decoder,
						 const struct native_fast_path_ends *ends)
{
	struct native_fast_path fast = begin_fast_path(decoder);

	if (!native_packet_words_open(&decoder->code->packet_words))
		return;
	native_fast_path_words(decoder, &fast, ends);
	end_fast_path(decoder, &fast);
}

static bool is_ready(const struct native_decoder *decoder)
{
	return native_fast_path_may_begin(decoder) &&
	       (decoder->out.run_limit || decoder->out.mark_count < NATIVE_BATCH_EVENTS);
}

static struct native_fast_path_ends ends_of(const struct native_output *out)
{
	return (struct native_fast_path_ends){out->runs + NATIVE_BATCH_RUNS, out->events + NATIVE_BATCH_EVENTS};
}

void native_fast_path_known(struct native_decoder *decoder)
{
	const struct native_fast_path_ends ends = ends_of(&decoder->out);

	if (decoder->code->packet_words.rest <= 0 && (decoder->region || decoder->place == NATIVE_PLACE_KNOWN) &&
	    is_ready(decoder))
		take_words(decoder, &ends);
}

void native_fast_path(struct native_decoder *decoder)
{
	const struct native_fast_path_ends ends = ends_of(&decoder->out);
	struct native_packet_words *words = &decoder->code->packet_words;
	struct native_fast_path fast;

	native_fast_path_known(decoder);
	if (!is_ready(decoder))
		return;
	fast = begin_fast_path(decoder);
	take_packets(decoder, &fast, &ends);
	if (words->rest > 0)
		words->rest -= fast.at - decoder->packets.at;
	end_fast_path(decoder, &fast);
}
