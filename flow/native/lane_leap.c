/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts TNT packets by leaps, three for a whole one, several lanes interleaved. */
#include "flow/native/lane_ways.h"

#include "common/bytes.h"
#include "flow/native/leap.h"
#include "flow/native/walk.h"

/* Bytes that a lane takes in its turn at most: an MTC and a TNT-64 packet. */
#define TURN 10

#define INLINE static inline __attribute__((always_inline))

/* ---- the decoder's state and the lane's ------------------------------------------------------------------- */

/* The context of the decoder's node and return stack; 0: there is none. */
static uint32_t context_of(struct native_decoder *decoder)
{
	struct native_leaps *leaps = &decoder->code->leaps;
	uint32_t context = 0;

	for (unsigned i = decoder->stack_count; i > 0; i--) {
		struct native_site *site = decoder->stack[(decoder->stack_top - i) % NATIVE_STACK];
		struct native_node *node = native_site_follow(decoder->code, site, decoder->mode);

		context = node ? native_context_get(leaps, node, context) : 0;
		if (!context)
			return 0;
	}
	return native_context_get(leaps, decoder->node, context);
}

bool native_leaps_lane_goes_on(const struct native_lane *lane)
{
	return lane->context != NATIVE_CONTEXT_LOST && !lane->stopped && lane->decoder.code->leaps.credit >= 0;
}

static void give_back(struct native_lane *lane)
{
	struct native_decoder *decoder = &lane->decoder;
	const struct native_leaps *leaps = &decoder->code->leaps;
	const struct native_context *context = native_context_of(leaps, lane->context);

	decoder->node = context->node;
	decoder->stack_count = context->depth;
	decoder->stack_top = context->depth % NATIVE_STACK;
	for (unsigned i = context->depth; i > 0; i--) {
		context = native_context_of(leaps, context->under);
		decoder->stack[i - 1] = &context->node->here;
	}
	native_lane_give_back(lane, lane->here);
}

void native_leaps_lane_end(struct native_lane *lane)
{
	struct native_decoder *decoder = &lane->decoder;
	const bool fits = lane->context != NATIVE_CONTEXT_LOST;

	native_leaps_end(&decoder->code->leaps, (uint64_t)(lane->here - decoder->at) / sizeof(uint64_t));
	/* No bits are taken from these packets again, nor from one that none can be taken from. */
	if (!fits || lane->here == decoder->at)
		lane->refused = lane->here + 1;
	if (fits)
		give_back(lane);
}

/* ---- leaps ------------------------------------------------------------------------------------------------- */

/* What leaps change, so that it is in registers. */
struct leaper {
	const uint8_t *at;
	uint64_t sums;
	uint64_t context;
};

/* `shifted`: see native_leap_place. */
INLINE void leap(struct native_code *code, struct native_leap *table, struct leaper *leaper, size_t part,
		 uint64_t shifted)
{
	const uint64_t place = native_leap_place(leaper->context, shifted);

	if (__builtin_expect(native_leap_at(table + part, place)->tag != leaper->context, 0))
		native_leap_find(code, part, leaper->context, place);
	leaper->context = native_leap_at(table + part, place)->to;
	leaper->sums += native_leap_at(table + part, place)->sums;
}

INLINE struct leaper load(const struct native_lane *lane)
{
	return (struct leaper){.at = lane->here, .context = lane->context};
}

INLINE void store(struct native_lane *lane, const struct leaper *leaper)
{
	lane->here = leaper->at;
	lane->context = (uint32_t)leaper->context;
	lane->blocks += NATIVE_SUMS_BLOCKS(leaper->sums);
	lane->instructions += NATIVE_SUMS_INSTRUCTIONS(leaper->sums);
}

/* The bits of any TNT packet. */
static void take_bits(struct native_code *code, struct leaper *leaper, uint64_t bits, unsigned count)
{
	struct native_leap *table = code->leaps.table;
	const unsigned first = count % NATIVE_LEAP_BITS;
	const uint64_t first_bits = bits >> (count - first);

	if (first == NATIVE_LEAP_FIRST_BITS)
		leap(code, table, leaper, NATIVE_LEAPS_FIRST, first_bits << 4);
	else if (first)
		leap(code, table, leaper, NATIVE_LEAPS_SHORT, (first_bits | 1u << first) << 4);
	for (count -= first; count; count -= NATIVE_LEAP_BITS)
		leap(code, table, leaper, 0, (bits >> (count - NATIVE_LEAP_BITS) & 0xffff) << 4);
}

/* Packets between whole ones, up to the next of these, or the lane stops. */
static void pass(struct native_lane *lane)
{
	struct leaper leaper = load(lane);

	lane->stopped = true;
	for (unsigned i = 0; lane->limit - leaper.at >= TURN && i < NATIVE_LEAPS_SUMMED / 3; i++) {
		struct ptl_pt_packet packet;
		int size;

		lane->stopped = !native_is_full(common_load64(leaper.at));
		if (!lane->stopped)
			break;
		size = native_lane_packet(lane, leaper.at, &packet);
		if (!size)
			break;
		if (packet.kind == PTL_PT_TNT_8 || packet.kind == PTL_PT_TNT_64)
			take_bits(lane->decoder.code, &leaper, packet.tnt.bits, packet.tnt.count);
		leaper.at += size;
	}
	store(lane, &leaper);
}

/* False: no leaps can be made here. */
static bool enter_context(struct native_lane *lane)
{
	struct native_decoder *decoder = &lane->decoder;
	struct native_leaps *leaps = &decoder->code->leaps;

	native_complete_stack(decoder);
	if (!native_leaps_begin(leaps, decoder->stack_count))
		return false;
	lane->context = context_of(decoder);
	if (!lane->context)
		native_leaps_end(leaps, 0);
	return lane->context;
}

bool native_leaps_lane_begin(struct native_lane *lane)
{
	const struct native_decoder *decoder = &lane->decoder;
	const ptrdiff_t left = decoder->end - decoder->at;

	if (!enter_context(lane)) {
		lane->refused = decoder->at + (left < NATIVE_LANE_WAIT ? left : NATIVE_LANE_WAIT);
		return false;
	}
	lane->clock = decoder->clock;
	lane->here = decoder->at;
	lane->limit = decoder->end - PTL_PT_PACKET_MAX;
	lane->blocks = lane->instructions = 0;
	pass(lane);
	return true;
}

static __attribute__((noinline)) void take_mtc(struct native_lane *lane, uint64_t word)
{
	flow_clock_mtc(&lane->clock, (uint8_t)(word >> 8));
}

/* A whole TNT-64 packet, and an MTC before it, which is what there most often is; false: there is something else. */
INLINE bool take_packet(struct native_code *code, struct native_lane *lane, struct native_leap *table,
			struct leaper *leaper)
{
	uint64_t word = common_load64(leaper->at);

	if (__builtin_expect(native_is_mtc(word), 0)) {
		take_mtc(lane, word);
		leaper->at += 2;
		word = common_load64(leaper->at);
	}
	if (__builtin_expect((uint16_t)word != NATIVE_TNT_64, 0) || __builtin_expect((int64_t)word >= 0, 0))
		return false;
	leap(code, table, leaper, NATIVE_LEAPS_FIRST, word >> 44 & 0x7fff0);
	leap(code, table, leaper, 0, word >> 28 & 0xffff0);
	leap(code, table, leaper, 0, word >> 12 & 0xffff0);
	leaper->at += sizeof(word);
	return true;
}

/* How often packets can be taken from all lanes without coming near an end. */
static size_t turns_of(struct native_lane *const *lanes, unsigned count)
{
	size_t turns = NATIVE_LEAPS_SUMMED / 3;

	for (unsigned i = 0; i < count; i++)
		if ((size_t)(lanes[i]->limit - lanes[i]->here) / TURN < turns)
			turns = (size_t)(lanes[i]->limit - lanes[i]->here) / TURN;
	return turns;
}

static void run_four(struct native_code *code, struct native_lane *const *lanes)
{
	struct native_leap *table = code->leaps.table;
	struct native_lane *const a = lanes[0], *const b = lanes[1], *const c = lanes[2], *const d = lanes[3];
	struct leaper first = load(a), second = load(b), third = load(c), fourth = load(d);

	for (size_t turns = turns_of(lanes, 4); turns; turns--)
		if (!take_packet(code, a, table, &first) || !take_packet(code, b, table, &second) ||
		    !take_packet(code, c, table, &third) || !take_packet(code, d, table, &fourth))
			break;
	store(a, &first);
	store(b, &second);
	store(c, &third);
	store(d, &fourth);
}

static void run_two(struct native_code *code, struct native_lane *const *lanes)
{
	struct native_leap *table = code->leaps.table;
	struct native_lane *const a = lanes[0], *const b = lanes[1];
	struct leaper first = load(a), second = load(b);

	for (size_t turns = turns_of(lanes, 2); turns; turns--)
		if (!take_packet(code, a, table, &first) || !take_packet(code, b, table, &second))
			break;
	store(a, &first);
	store(b, &second);
}

static void run_one(struct native_code *code, struct native_lane *lane)
{
	struct leaper leaper = load(lane);

	for (size_t turns = turns_of(&lane, 1); turns && take_packet(code, lane, code->leaps.table, &leaper); turns--)
		;
	store(lane, &leaper);
}

void native_leaps_lanes_run(struct native_code *code, struct native_lane *const *lanes, unsigned count)
{
	unsigned i;

	for (i = 0; i + 3 < count; i += 4)
		run_four(code, lanes + i);
	for (; i + 1 < count; i += 2)
		run_two(code, lanes + i);
	if (i < count)
		run_one(code, lanes[i]);
	for (i = 0; i < count; i++)
		pass(lanes[i]);
}
