/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts TNT packets by the TNT16 cache, in several interleaved slots: three look-ups for a full TNT-64 packet. The
 * cache either adds sums, or counts look-ups (counting). The choice never changes.
 */
#include "flow/native/interleaved_tnt.h"

#include "flow/native/interleaved_packet.h"
#include "flow/native/return_stack.h"

#include "common/bytes.h"
#include "flow/native/cache/tnt16.h"

/* maximum bytes of a slot's turn: an MTC and a TNT-64 packet */
#define TURN (FORMAT_PT_SIZE_MTC + FORMAT_PT_SIZE_TNT_64)

#define INLINE static inline __attribute__((always_inline))

/* ---- the decoder's state and the slot's ------------------------------------------------------------------- */

/* Returns the context of the decoder's region and return stack; 0: no context. */
static uint32_t context_of(struct native_decoder *decoder)
{
	struct native_tnt16 *tnt16 = &decoder->code->tnt16;
	uint32_t context = 0;

	for (unsigned i = decoder->calls.count; i > 0; i--) {
		struct native_return_site *return_site = decoder->calls.sites[(decoder->calls.top - i) % NATIVE_STACK];
		struct native_region *region = native_return_site_follow(decoder->code, return_site, decoder->mode);

		context = region ? native_context_get(tnt16, region, context) : 0;
		if (!context)
			return 0;
	}
	return native_context_get(tnt16, decoder->region, context);
}

bool native_interleaved_tnt_goes_on(const struct native_interleaved *slot)
{
	return slot->context != NATIVE_CONTEXT_LOST && !slot->stopped && slot->decoder.code->tnt16.credit >= 0;
}

static void give_back(struct native_interleaved *slot)
{
	struct native_decoder *decoder = &slot->decoder;
	const struct native_tnt16 *tnt16 = &decoder->code->tnt16;
	const struct native_context *context = native_context_of(tnt16, slot->context);

	decoder->region = context->region;
	decoder->calls.count = context->depth;
	decoder->calls.top = context->depth % NATIVE_STACK;
	for (unsigned i = context->depth; i > 0; i--) {
		context = native_context_of(tnt16, context->under);
		decoder->calls.sites[i - 1] = &context->region->here;
	}
	native_interleaved_give_back(slot, slot->here);
}

/* ---- tnt16 ------------------------------------------------------------------------------------------------- */

/* The state that look-ups change, kept in registers. */
struct position {
	const uint8_t *at;
	uint64_t sums;
	uint64_t context;
	struct native_interleaved_packet last, before; /* as in the slot */
};

/*
 * Looks up one window of bits. shifted: see native_tnt16_place. times: 0 adds the entry's sums; otherwise the look-up
 * counts `times` times.
 */
INLINE void take_window(struct native_code *code, struct native_tnt16_entry *table, struct position *position,
			size_t part, uint64_t shifted, uint64_t times)
{
	const uint64_t place = native_tnt16_place(position->context, shifted);

	if (__builtin_expect(native_tnt16_at(table + part, place)->tag != position->context, 0))
		native_tnt16_find(code, part, position->context, place);
	position->context = native_tnt16_at(table + part, place)->to;
	if (times)
		native_tnt16_at(table + part, place)->sums += times;
	else
		position->sums += native_tnt16_at(table + part, place)->sums;
}

INLINE struct position load_position(const struct native_interleaved *slot)
{
	return (struct position){
		.at = slot->here, .context = slot->context, .last = slot->last, .before = slot->before};
}

INLINE void store(struct native_interleaved *slot, const struct position *position)
{
	slot->here = position->at;
	slot->context = (uint32_t)position->context;
	slot->last = position->last;
	slot->before = position->before;
	slot->blocks += NATIVE_TNT16_SUM_BLOCKS(position->sums);
	slot->instructions += NATIVE_TNT16_SUM_INSTRUCTIONS(position->sums);
}

/* Records the current packet, which is about to be counted. */
INLINE void remember_packet(struct position *position)
{
	position->before = position->last;
	position->last = (struct native_interleaved_packet){position->at, position->context};
}

/* Looks up the bits of any TNT packet. */
INLINE void take_bits(struct native_code *code, struct position *position, uint64_t bits, unsigned count,
		      uint64_t times)
{
	struct native_tnt16_entry *table = code->tnt16.table;
	const unsigned first = count % NATIVE_TNT16_BITS;
	const uint64_t first_bits = bits >> (count - first);

	if (first == NATIVE_TNT16_FIRST_BITS)
		take_window(code, table, position, NATIVE_TNT16_FIRST, first_bits << 4, times);
	else if (first)
		take_window(code, table, position, NATIVE_TNT16_SHORT, (first_bits | 1u << first) << 4, times);
	for (count -= first; count; count -= NATIVE_TNT16_BITS)
		take_window(code, table, position, 0, (bits >> (count - NATIVE_TNT16_BITS) & 0xffff) << 4, times);
}

/*
 * Takes back the count of the last packet, and leaves the packet to the decoder. Either the packet does not fit the
 * code, or the meaning of its last branch may depend on later packets.
 */
static __attribute__((noinline)) void take_back_to(struct native_interleaved *slot, struct position *position)
{
	struct ptl_pt_packet packet;

	position->at = position->last.at;
	position->context = position->last.context;
	native_interleaved_packet(slot, position->at, &packet);
	take_bits(slot->decoder.code, position, packet.tnt.bits, packet.tnt.count, UINT64_MAX);
	position->context = position->last.context;
	position->last = position->before;
	position->before.at = NULL;
}

static void take_back(struct native_interleaved *slot)
{
	struct position position = load_position(slot);

	take_back_to(slot, &position);
	store(slot, &position);
}

/* With counts, counting stops at once at bits that do not fit: look-ups in a lost context would count nonsense. */
INLINE bool keeps(struct native_interleaved *slot, struct position *position)
{
	if (__builtin_expect(position->context != NATIVE_CONTEXT_LOST, 1))
		return true;
	take_back_to(slot, position);
	slot->limit = position->at;
	return false;
}

/* Handles packets up to the next full TNT-64 packet, or stops the slot. */
static void pass_packets(struct native_interleaved *slot)
{
	struct native_code *code = slot->decoder.code;
	struct position position = load_position(slot);

	slot->stopped = true;
	for (unsigned i = 0; slot->limit - position.at >= TURN && i < NATIVE_TNT16_SUMMED / 3; i++) {
		struct ptl_pt_packet packet;
		int size;

		slot->stopped = !native_is_full_tnt(common_load64(position.at));
		if (!slot->stopped) {
			slot->first = slot->first ? slot->first : position.at;
			break;
		}
		size = native_interleaved_packet(slot, position.at, &packet);
		if (!size)
			break;
		if (packet.kind == PTL_PT_TNT_8 || packet.kind == PTL_PT_TNT_64) {
			remember_packet(&position);
			slot->first = slot->first ? slot->first : position.at;
			take_bits(code, &position, packet.tnt.bits, packet.tnt.count, code->counters.sink ? 1 : 0);
			if (code->counters.sink && !keeps(slot, &position))
				break;
		}
		position.at += size;
	}
	store(slot, &position);
}

void native_interleaved_tnt_end(struct native_interleaved *slot)
{
	struct native_decoder *decoder = &slot->decoder;
	const bool counting = decoder->code->counters.sink, fits = slot->context != NATIVE_CONTEXT_LOST;

	if (counting && slot->last.at)
		take_back(slot);
	native_tnt16_end(&decoder->code->tnt16, (uint64_t)(slot->here - decoder->packets.at) / sizeof(uint64_t));
	/*
	 * The decoder must handle the packets up to `refused`, or at least the packet that the TNT16 cache cannot
	 * count.
	 */
	if (!fits || counting || slot->here == decoder->packets.at)
		slot->refused = slot->here + 1;
	if (!fits)
		return;
	if (counting && slot->first && slot->here > slot->first)
		native_output_put_counted(&decoder->out, decoder->region);
	give_back(slot);
}

/* Finds the context of the decoder. Returns false if the TNT16 cache cannot be used here. */
static bool enter_context(struct native_interleaved *slot)
{
	struct native_decoder *decoder = &slot->decoder;
	struct native_tnt16 *tnt16 = &decoder->code->tnt16;

	native_complete_stack(decoder);
	if (!native_tnt16_begin(decoder->code, decoder->calls.count))
		return false;
	slot->context = context_of(decoder);
	if (!slot->context)
		native_tnt16_end(tnt16, 0);
	return slot->context;
}

bool native_interleaved_tnt_begin(struct native_interleaved *slot)
{
	const struct native_decoder *decoder = &slot->decoder;
	const ptrdiff_t left = decoder->packets.end - decoder->packets.at;

	if (!enter_context(slot)) {
		slot->refused = decoder->packets.at + (left < NATIVE_INTERLEAVED_WAIT ? left : NATIVE_INTERLEAVED_WAIT);
		return false;
	}
	slot->clock = decoder->clock;
	slot->here = decoder->packets.at;
	slot->limit = decoder->packets.end - PTL_PT_PACKET_MAX;
	slot->blocks = slot->instructions = 0;
	slot->first = slot->last.at = slot->before.at = NULL;
	pass_packets(slot);
	return true;
}

static __attribute__((noinline)) void take_mtc(struct native_interleaved *slot, uint64_t word)
{
	flow_clock_mtc(&slot->clock, (uint8_t)(word >> 8));
}

/*
 * Counts a full TNT-64 packet and an MTC before the packet. Returns false at any other packet, or if the bits do not
 * fit.
 */
INLINE bool take_packet(struct native_code *code, struct native_interleaved *slot, struct native_tnt16_entry *table,
			struct position *position, bool counting)
{
	uint64_t word = common_load64(position->at);

	if (__builtin_expect(native_is_mtc(word), 0)) {
		take_mtc(slot, word);
		position->at += FORMAT_PT_SIZE_MTC;
		word = common_load64(position->at);
	}
	if (__builtin_expect(!FORMAT_PT_IS(word, TNT_64), 0) || __builtin_expect((int64_t)word >= 0, 0))
		return false;
	if (counting) {
		remember_packet(position);
	}
	take_window(code, table, position, NATIVE_TNT16_FIRST, word >> 44 & 0x7fff0, counting);
	take_window(code, table, position, 0, word >> 28 & 0xffff0, counting);
	take_window(code, table, position, 0, word >> 12 & 0xffff0, counting);
	if (counting && !keeps(slot, position))
		return false;
	position->at += sizeof(word);
	return true;
}

/* Returns the number of turns for all slots before any slot is near its end. */
static size_t turns_of(struct native_interleaved *const *slots, unsigned count)
{
	size_t turns = NATIVE_TNT16_SUMMED / 3;

	for (unsigned i = 0; i < count; i++)
		if ((size_t)(slots[i]->limit - slots[i]->here) / TURN < turns)
			turns = (size_t)(slots[i]->limit - slots[i]->here) / TURN;
	return turns;
}

INLINE void run_four(struct native_code *code, struct native_interleaved *const *slots, bool counting)
{
	struct native_tnt16_entry *table = code->tnt16.table;
	struct native_interleaved *const a = slots[0], *const b = slots[1], *const c = slots[2], *const d = slots[3];
	struct position first = load_position(a), second = load_position(b), third = load_position(c),
			fourth = load_position(d);

	for (size_t turns = turns_of(slots, 4); turns; turns--)
		if (!take_packet(code, a, table, &first, counting) || !take_packet(code, b, table, &second, counting) ||
		    !take_packet(code, c, table, &third, counting) || !take_packet(code, d, table, &fourth, counting))
			break;
	store(a, &first);
	store(b, &second);
	store(c, &third);
	store(d, &fourth);
}

INLINE void run_two(struct native_code *code, struct native_interleaved *const *slots, bool counting)
{
	struct native_tnt16_entry *table = code->tnt16.table;
	struct native_interleaved *const a = slots[0], *const b = slots[1];
	struct position first = load_position(a), second = load_position(b);

	for (size_t turns = turns_of(slots, 2); turns; turns--)
		if (!take_packet(code, a, table, &first, counting) || !take_packet(code, b, table, &second, counting))
			break;
	store(a, &first);
	store(b, &second);
}

INLINE void run_one(struct native_code *code, struct native_interleaved *slot, bool counting)
{
	struct position position = load_position(slot);
	size_t turns = turns_of(&slot, 1);

	while (turns && take_packet(code, slot, code->tnt16.table, &position, counting))
		turns--;
	store(slot, &position);
}

INLINE void run_slots(struct native_code *code, struct native_interleaved *const *slots, unsigned count, bool counting)
{
	unsigned i;

	for (i = 0; i + 3 < count; i += 4)
		run_four(code, slots + i, counting);
	for (; i + 1 < count; i += 2)
		run_two(code, slots + i, counting);
	if (i < count)
		run_one(code, slots[i], counting);
}

void native_interleaved_tnt_run(struct native_code *code, struct native_interleaved *const *slots, unsigned count)
{
	if (code->counters.sink)
		run_slots(code, slots, count, true);
	else
		run_slots(code, slots, count, false);
	for (unsigned i = 0; i < count; i++)
		pass_packets(slots[i]);
}
