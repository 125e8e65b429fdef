/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts TNT bits by strides: out of packets, nine at a time, several lanes interleaved, and back into the decoder's state. */
#include "flow/native/lane_ways.h"

#include <string.h>

#include "flow/native/lost.h"
#include "flow/native/stride.h"
#include "flow/native/walk.h"

#define ROUND_BITS (NATIVE_STRIDE_STEPS * NATIVE_STRIDE_BITS)
#define BITS_MIN 512 /* fewer are not worth the change of hands */
#define BELOW 2      /* stack[BELOW + depth - 1] is the newest */

/* ---- packets to bits ------------------------------------------------------------------------------------- */

/* Bits on their way into memory. */
struct writer {
	uint8_t *bytes;
	uint64_t count;
	uint64_t held; /* the bits of the byte that is not full, from the highest on */
};

/* 1 to 56 bits, from the highest on; all below them is zero. */
static inline void put(struct writer *writer, uint64_t bits, unsigned count)
{
	uint64_t word = writer->held | bits >> (writer->count & 7);
	unsigned full = ((unsigned)(writer->count & 7) + count) & ~7u;

	writer->held = full < 64 ? word << full : 0;
	word = __builtin_bswap64(word);
	memcpy(writer->bytes + (writer->count >> 3), &word, sizeof(word));
	writer->count += count;
}

/* A packet between others; false: it has more than bits and time. */
static bool take_packet(struct native_lane *lane, struct writer *writer, const uint8_t **at)
{
	struct ptl_pt_packet packet;
	int size = native_lane_packet(lane, *at, &packet);

	/* What is no packet may have been read in part. */
	if (!size)
		return false;
	if ((packet.kind == PTL_PT_TNT_8 || packet.kind == PTL_PT_TNT_64) && packet.tnt.count)
		put(writer, packet.tnt.bits << (64 - packet.tnt.count), packet.tnt.count);
	*at += size;
	return true;
}

static void take_packets(struct native_lane *lane)
{
	const struct native_decoder *decoder = &lane->decoder;
	const uint8_t *at = decoder->at;
	struct writer writer = {.bytes = lane->bits};

	while (decoder->end - at > PTL_PT_PACKET_MAX && writer.count < NATIVE_LANE_BITS - 64) {
		uint64_t word = common_load64(at);

		if (__builtin_expect(native_is_full(word), 1)) {
			put(&writer, word >> 16 << 17, 47);
			at += 8;
		} else if (native_is_mtc(word)) {
			flow_clock_mtc(&lane->clock, (uint8_t)(word >> 8));
			at += 2;
		} else if (!take_packet(lane, &writer, &at)) {
			break;
		}
	}
	lane->end = writer.count;
	lane->behind = at;
}

/* ---- the decoder's state and the lane's ------------------------------------------------------------------- */

static bool take_stack(struct native_lane *lane)
{
	struct native_decoder *decoder = &lane->decoder;

	native_complete_stack(decoder);
	lane->depth = (int32_t)decoder->stack_count;
	for (unsigned i = 0; i < decoder->stack_count; i++) {
		struct native_site *site =
			decoder->stack[(decoder->stack_top - decoder->stack_count + i) % NATIVE_STACK];
		struct native_node *node = native_site_follow(decoder->code, site, decoder->mode);
		uint32_t state = node ? native_state_get(&decoder->code->strides, node) : NATIVE_STATE_NONE;

		if (!state)
			return false;
		lane->stack[BELOW + i] = state;
	}
	return true;
}

bool native_strides_lane_begin(struct native_lane *lane)
{
	struct native_decoder *decoder = &lane->decoder;

	if (!native_strides_open(&decoder->code->strides)) {
		lane->refused = decoder->at + 1;
		return false;
	}
	lane->clock = decoder->clock;
	take_packets(lane);
	lane->at = lane->blocks = lane->instructions = 0;
	lane->stack[0] = lane->stack[1] = NATIVE_STATE_NONE;
	lane->state = native_state_get(&decoder->code->strides, decoder->node);
	if (lane->end >= (lane->eager ? 1 : BITS_MIN) && lane->state && take_stack(lane))
		return true;
	lane->refused = lane->behind > decoder->at ? lane->behind : decoder->at + 1;
	return false;
}

static void give_back(struct native_lane *lane)
{
	struct native_decoder *decoder = &lane->decoder;
	const struct native_strides *strides = &decoder->code->strides;
	const struct native_state *state = native_state_of(strides, lane->state);

	/* The calls that have been pushed ahead. */
	lane->depth -= (int32_t)state->pushed;
	decoder->node = state->node;
	for (int32_t i = 0; i < lane->depth; i++)
		decoder->stack[i % NATIVE_STACK] = &native_state_of(strides, lane->stack[BELOW + i])->node->here;
	decoder->stack_count = (unsigned)lane->depth;
	decoder->stack_top = decoder->stack_count % NATIVE_STACK;
	native_lane_give_back(lane, lane->behind);
}

/* ---- steps ------------------------------------------------------------------------------------------------- */

#define INLINE static inline __attribute__((always_inline))

/* What a step changes, so that it is in registers. */
struct runner {
	uint64_t bits; /* the next ones, from the highest on */
	uint64_t sums; /* of the round */
	uint32_t *top; /* behind the newest of the stack */
	uint32_t state;
};

INLINE void step(struct native_code *code, const struct native_stride *table, struct runner *runner)
{
	const struct native_stride *stride = native_stride_at(table, runner->state, runner->bits);
	const uint32_t newest = runner->top[-1];
	int64_t sums;

	if (__builtin_expect(stride->from != runner->state, 0))
		stride = native_stride_make(code, runner->state, runner->bits);
	sums = stride->sums;
	/* No branches on what cannot be foretold: the place above the newest is free to write to. */
	*runner->top = stride->push;
	runner->top += sums >> 30;
	runner->state = stride->to | (newest & (uint32_t)(sums >> 31));
	runner->bits <<= sums & 63;
	runner->sums += (uint64_t)sums;
}

INLINE struct runner load(struct native_lane *lane)
{
	uint64_t word;

	memcpy(&word, lane->bits + (lane->at >> 3), sizeof(word));
	return (struct runner){
		.bits = __builtin_bswap64(word) << (lane->at & 7),
		.top = lane->stack + BELOW + lane->depth,
		.state = lane->state,
	};
}

INLINE void store(struct native_lane *lane, const struct runner *runner)
{
	lane->at += NATIVE_STRIDE_USED(runner->sums);
	lane->blocks += NATIVE_STRIDE_BLOCKS(runner->sums);
	lane->instructions += NATIVE_STRIDE_INSTRUCTIONS(runner->sums);
	lane->depth = (int32_t)(runner->top - lane->stack) - BELOW;
	lane->state = runner->state;
}

INLINE void round_of_two(struct native_code *code, struct native_lane *one, struct native_lane *two)
{
	const struct native_stride *table = code->strides.table;
	struct runner first = load(one), second = load(two);

	for (int i = 0; i < NATIVE_STRIDE_STEPS; i++) {
		step(code, table, &first);
		step(code, table, &second);
	}
	store(one, &first);
	store(two, &second);
}

INLINE void round_of_four(struct native_code *code, struct native_lane *const *lanes)
{
	const struct native_stride *table = code->strides.table;
	struct runner first = load(lanes[0]), second = load(lanes[1]), third = load(lanes[2]), fourth = load(lanes[3]);

	for (int i = 0; i < NATIVE_STRIDE_STEPS; i++) {
		step(code, table, &first);
		step(code, table, &second);
		step(code, table, &third);
		step(code, table, &fourth);
	}
	store(lanes[0], &first);
	store(lanes[1], &second);
	store(lanes[2], &third);
	store(lanes[3], &fourth);
}

INLINE void round_of_one(struct native_code *code, struct native_lane *one)
{
	const struct native_stride *table = code->strides.table;
	struct runner first = load(one);

	for (int i = 0; i < NATIVE_STRIDE_STEPS; i++)
		step(code, table, &first);
	store(one, &first);
}

/* Rounds that are safe: each takes at most ROUND_BITS and pushes at most as many addresses as it has steps. */
static uint64_t rounds_of(const struct native_lane *lane)
{
	uint64_t by_bits = (lane->end - lane->at) / ROUND_BITS;
	uint64_t by_stack = (uint64_t)(NATIVE_STACK - lane->depth) / NATIVE_STRIDE_STEPS;

	return by_bits < by_stack ? by_bits : by_stack;
}

bool native_strides_lane_goes_on(const struct native_lane *lane)
{
	return lane->state && rounds_of(lane) > 0;
}

INLINE void do_rounds(struct native_code *code, struct native_lane *const *lanes, unsigned count, uint64_t rounds)
{
	while (rounds--) {
		unsigned i;

		for (i = 0; i + 3 < count; i += 4)
			round_of_four(code, lanes + i);
		for (; i + 1 < count; i += 2)
			round_of_two(code, lanes[i], lanes[i + 1]);
		if (i < count)
			round_of_one(code, lanes[i]);
	}
}

/* With shifts that take their count from any register. */
__attribute__((target("bmi,bmi2"))) static void do_rounds_bmi2(struct native_code *code,
							       struct native_lane *const *lanes, unsigned count,
							       uint64_t rounds)
{
	do_rounds(code, lanes, count, rounds);
}

/* As many rounds as all of the lanes can do. */
void native_strides_lanes_run(struct native_code *code, struct native_lane *const *lanes, unsigned count)
{
	uint64_t rounds = UINT64_MAX;

	for (unsigned i = 0; i < count; i++)
		if (rounds_of(lanes[i]) < rounds)
			rounds = rounds_of(lanes[i]);
	if (__builtin_cpu_supports("bmi2"))
		do_rounds_bmi2(code, lanes, count, rounds);
	else
		do_rounds(code, lanes, count, rounds);
}

/* One by one, with an end at any bit; false: they do not fit. */
static bool take_rest(struct native_lane *lane)
{
	struct native_code *code = lane->decoder.code;
	struct runner runner = load(lane);

	while (lane->at < lane->end) {
		unsigned left = lane->end - lane->at < NATIVE_STRIDE_BITS ? (unsigned)(lane->end - lane->at)
									  : NATIVE_STRIDE_BITS;
		struct native_stride made;
		uint32_t key;

		runner = load(lane);
		key = (uint32_t)(runner.bits >> (64 - NATIVE_STRIDE_BITS));
		if (!runner.state || lane->depth > NATIVE_STACK - 1)
			return false;
		if (left == NATIVE_STRIDE_BITS) {
			step(code, code->strides.table, &runner);
		} else if (native_stride_walk(code, runner.state, key >> (NATIVE_STRIDE_BITS - left), left, &made)) {
			uint32_t newest = runner.top[-1];

			*runner.top = made.push;
			runner.top += made.sums >> 30;
			runner.state = made.sums < 0 ? newest : made.to;
			runner.sums = (uint64_t)(int64_t)made.sums;
		} else {
			return false;
		}
		store(lane, &runner);
	}
	return lane->state != NATIVE_STATE_NONE;
}

void native_strides_lane_end(struct native_lane *lane)
{
	if (take_rest(lane))
		give_back(lane);
	else
		lane->refused = lane->behind;
}
