/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Follows packets from counter to counter, as count_path.c does, and gives the consumer each run of blocks except the
 * passed runs.
 */
#include "flow/native/step_path.h"

#include "flow/native/counter_walk.h"
#include "flow/native/fast_path.h"
#include "flow/native/gap.h"
#include "flow/native/interleaved_packet.h"
#include "flow/native/return_stack.h"
#include "flow/native/walk.h"

/* The decoder's state during the path. */
struct path {
	struct native_counter_walk walk;
	uint32_t home_number;  /* home of the consumer */
	struct flow_step step; /* the next step, as far as known */
	uint32_t passed;       /* last region passed since the last step; 0: no region was passed */
	bool fresh;            /* a region was left since the time last changed */
	uint64_t time;         /* if not fresh: time of the last region that was left; 0: no region was left */
	struct native_stretches *stretches;
};

/* ---- steps ----------------------------------------------------------------------------------------------- */

/* Records that the region was passed. home_number: home of the consumer afterwards; 0: no home. */
static inline void pass_region(struct path *path, uint32_t region, uint64_t sums, uint32_t home_number)
{
	path->fresh = true;
	path->step.instructions += sums & (NATIVE_COUNTER_BLOCK - 1);
	path->passed = region;
	/* A region is passed only with a home. No home afterwards means that the region ended with a return. */
	path->step.returned = !home_number;
	path->home_number = home_number;
}

/* Completes the step with the passed regions. Finds the run again, because new regions may have moved it. */
static inline const struct flow_step *complete_step(struct path *path)
{
	path->step.passed = path->passed ? &native_counter_walk_counted(&path->walk, path->passed)->run : NULL;
	return &path->step;
}

static inline void forget_passed(struct path *path)
{
	path->step.instructions = 0;
	path->passed = 0;
}

static inline bool give_step(struct path *path)
{
	struct native_output *out = &path->walk.decoder->out;

	out->status = out->sink->step(out->sink->step_context, complete_step(path), &path->home_number);
	forget_passed(path);
	return out->status == 0;
}

/* Gives the current region's run to the consumer. Returns false if the consumer wants no more flow. */
static inline bool give_run(struct path *path, struct native_counter *counter)
{
	path->fresh = true;
	path->step.run = &native_counter_walk_counted(&path->walk, path->walk.here)->run;
	path->step.time = path->walk.decoder->out.time;
	path->step.marks = &counter->step;
	return give_step(path);
}

/*
 * Gives or passes the current region's run, which was executed completely. Returns false if the consumer wants no more
 * flow.
 */
static bool take_run(struct path *path)
{
	struct native_counter *counter = native_counter_walk_here(&path->walk);

	if (counter->step.home_number != path->home_number || !path->home_number)
		return give_run(path, counter);
	pass_region(path, path->walk.here, counter->sums, counter->decision == NATIVE_RETURN ? 0 : path->home_number);
	return true;
}

/* ---- leaving regions --------------------------------------------------------------------------------------- */

/*
 * Leaves the current region; works for any region. Returns false without memory, without any change, or if the consumer
 * wants no more flow.
 */
static bool step_leave_region(struct path *path, const struct native_region *region)
{
	if (!native_counter_walk_calls(&path->walk, region))
		return false;
	native_counter_make_plain(&path->walk.decoder->code->counters, region);
	return !region->run.run.count || take_run(path);
}

/*
 * Moves to the region in which a packet decides. Returns NULL, without any change, if this path cannot follow, or if
 * the consumer wants no more flow.
 */
static struct native_region *step_settle_region(struct path *path)
{
	struct native_passed passed;
	struct native_region *region = native_counter_walk_decision(&path->walk, &passed);

	for (uint32_t i = 0; i < passed.count; i++) {
		path->walk.here = passed.numbers[i];
		if (!step_leave_region(path, native_counter_walk_counted(&path->walk, passed.numbers[i])->region))
			return NULL;
	}
	if (region)
		path->walk.here = passed.here;
	return region;
}

/* ---- TNT bits ---------------------------------------------------------------------------------------------- */

/* Follows any TNT bit. Returns false, without following the bit, if this path cannot. */
static __attribute__((noinline)) bool take_bit(struct path *path, unsigned taken)
{
	struct native_region *region = step_settle_region(path);
	const uint32_t to = region ? native_counter_walk_target(&path->walk, region, taken) : 0;

	if (!to || !step_leave_region(path, region))
		return false;
	native_counter_walk_go(&path->walk, region, taken, to);
	return true;
}

/* A home that no counter has. */
#define NO_HOME UINT32_MAX

/* Checks whether a counter without a next counter returns to a known counter. */
static inline bool returns(const struct path *path, const struct native_counter *counter, uint64_t taken)
{
	return counter->plain && counter->decision == NATIVE_RETURN && taken &&
	       (counter->push || path->walk.depth != path->walk.known);
}

static inline uint32_t pop(struct path *path)
{
	path->walk.depth--;
	return path->walk.calls[--path->walk.top % NATIVE_STACK];
}

/* The flow of TNT bits so far. */
struct way {
	uint64_t bits; /* the next bit is the highest */
	unsigned count;
	uint32_t here;   /* counter of the current region */
	uint32_t passed; /* counter of the last passed region; 0: no region was passed */
	uint64_t sums;   /* sums of the passed regions */
};

/* Passes stretches that are known. */
static inline void pass_stretches(const struct path *path, struct way *way, uint32_t home_number)
{
	unsigned bits = NATIVE_STRETCH_BITS;

	while (bits == NATIVE_STRETCH_BITS && way->count >= NATIVE_STRETCH_BITS) {
		const uint64_t key = native_stretch_key(way->here, home_number,
							way->bits >> (64 - NATIVE_STRETCH_BITS));
		const struct native_stretch *stretch = native_stretch_at(path->stretches->table, key);

		if (stretch->key != key)
			break;
		bits = stretch->bits;
		way->bits <<= bits;
		way->count -= bits;
		way->here = stretch->to;
		way->passed = stretch->passed;
		way->sums += stretch->instructions;
	}
}

/* Remembers a stretch from `from` to `to`. */
static inline void learn_stretch(const struct path *path, const struct way *from, const struct way *to,
				 uint32_t home_number)
{
	const unsigned bits = from->count - to->count;
	const uint64_t instructions = (to->sums - from->sums) & (NATIVE_COUNTER_BLOCK - 1);
	uint64_t key;

	if (bits < NATIVE_STRETCH_MIN || from->count < NATIVE_STRETCH_BITS || home_number >= NATIVE_STRETCH_HOMES ||
	    instructions > UINT32_MAX || !path->stretches->table)
		return;
	key = native_stretch_key(from->here, home_number, from->bits >> (64 - NATIVE_STRETCH_BITS));
	*native_stretch_at(path->stretches->table, key) = (struct native_stretch){key, to->here, to->passed,
										  (uint32_t)instructions, bits};
	path->stretches->used = true;
}

/* Follows bits whose targets the counters know. Returns the number of remaining bits. */
static inline unsigned step_known_bits(struct path *path, uint64_t bits, unsigned count)
{
	struct native_counter *const table = path->walk.table;
	struct way way = {.bits = bits << (64 - count), .count = count, .here = path->walk.here};

	do {
		uint32_t home_number = path->home_number ? path->home_number : NO_HOME, next = 0;
		struct native_counter *counter = NULL;
		struct way from;
		unsigned limit;

		way.passed = 0;
		way.sums = 0;
		if (home_number < NATIVE_STRETCH_HOMES && path->stretches->table)
			pass_stretches(path, &way, home_number);
		from = way;
		limit = way.count > NATIVE_STRETCH_BITS ? way.count - NATIVE_STRETCH_BITS : 0;
		while (way.count > limit) {
			counter = native_counter_at(table, way.here);
			next = counter->next[way.bits >> 63];
			if (counter->step.home_number != home_number ||
			    (!next && !returns(path, counter, way.bits >> 63)))
				break;
			if (!next) {
				next = pop(path);
				home_number = NO_HOME;
			}
			way.sums += counter->sums;
			way.passed = way.here;
			way.here = next;
			way.bits <<= 1;
			way.count--;
		}
		if (way.count == limit || (counter && next && counter->step.home_number != home_number))
			learn_stretch(path, &from, &way, home_number);
		if (way.passed)
			pass_region(path, way.passed, way.sums, home_number == NO_HOME ? 0 : home_number);
		if (way.count == limit)
			continue;
		if (!next && !returns(path, counter, way.bits >> 63))
			break;
		path->walk.here = way.here;
		/* Loads the next counter while the consumer handles the run. */
		__builtin_prefetch(native_counter_at(table, next));
		if (!give_run(path, counter))
			break;
		if (counter->push)
			native_counter_walk_push_plain(&path->walk, counter->push);
		way.here = next ? next : pop(path);
		way.bits <<= 1;
		way.count--;
	} while (way.count);
	path->walk.here = way.here;
	return way.count;
}

/* Follows any bits. Returns the number of remaining bits. */
static inline unsigned take_bits(struct path *path, uint64_t bits, unsigned count)
{
	while (count && (count = step_known_bits(path, bits, count)) && !path->walk.decoder->out.status &&
	       take_bit(path, bits >> (count - 1) & 1))
		count--;
	return count;
}

/* ---- packets ----------------------------------------------------------------------------------------------- */

/* Finds the counter at the TIP's target, and stores the edge in `place`. Returns false if this path cannot. */
static bool find_target(struct path *path, uint64_t ip, struct native_count_edge *place)
{
	struct native_code *code = path->walk.decoder->code;
	const uint32_t to = native_counter_walk_number(&path->walk,
						       native_target_get(code, ip, path->walk.decoder->mode));

	if (to)
		*native_counters_target(&code->counters, ip) = (struct native_count_target){
			native_target_tag(ip, path->walk.decoder->mode), to};
	return to && native_counters_edge_put(&code->counters, place,
					      &(struct native_count_edge){.ip = ip, .from = path->walk.here, .to = to});
}

/* Handles a TIP without a FUP: the branch at the region's end leads to ip. Returns false if this path cannot. */
static bool take_target(struct path *path, uint64_t ip)
{
	const struct native_region *region = NULL;
	struct native_count_edge *edge;
	uint8_t decision;

	if (!native_counter_walk_here(&path->walk)->plain) {
		region = step_settle_region(path);
		if (!region)
			return false;
	}
	decision = native_counter_walk_here(&path->walk)->decision;
	if (decision == NATIVE_CONDITIONAL || decision >= NATIVE_CONTINUE)
		return false;
	edge = native_counters_edge_place(&path->walk.decoder->code->counters, path->walk.here, ip);
	if (!edge || ((edge->ip != ip || edge->from != path->walk.here) && !find_target(path, ip, edge)))
		return false;
	if (region ? !step_leave_region(path, region) : !take_run(path))
		return false;
	if (!region && native_counter_walk_here(&path->walk)->push)
		native_counter_walk_push_plain(&path->walk, native_counter_walk_here(&path->walk)->push);
	if (decision == NATIVE_RETURN)
		native_counter_walk_pop(&path->walk);
	path->walk.here = edge->to;
	return true;
}

static bool take_tip(struct path *path, unsigned first)
{
	uint64_t ip;
	const unsigned size = native_counter_walk_ip(&path->walk, first, &ip);

	if (!size || !take_target(path, ip))
		return false;
	path->walk.last_ip = ip;
	path->walk.at += size;
	return true;
}

/* Handles a packet of time, mostly MTC. Returns false for another packet, or if code changes at the packet's time. */
static bool take_time(struct path *path, uint64_t word)
{
	struct native_decoder *decoder = path->walk.decoder;
	struct ptl_pt_context context = decoder->packets.context;
	struct ptl_pt_packet packet = {.kind = PTL_PT_PAD};
	struct flow_clock clock = decoder->clock;
	int size = FORMAT_PT_SIZE_MTC;
	uint64_t time;

	if (native_is_mtc(word)) {
		flow_clock_mtc(&clock, (uint8_t)(word >> 8));
		flow_clock_settle(&clock);
	} else {
		size = native_read(decoder, path->walk.at, &context, &packet);
		if (size < 0 || decoder->guest.own_tsc ||
		    (packet.kind != PTL_PT_TSC && packet.kind != PTL_PT_TMA && packet.kind != PTL_PT_CYC))
			return false;
		flow_clock_packet(&clock, &packet);
	}
	time = flow_clock_time(&clock);
	if (time && decoder->recode.select && time >= decoder->recode.until)
		return false;
	decoder->clock = clock;
	decoder->out.cycles = clock.counted;
	path->walk.at += size;
	if (!time || time == decoder->out.time)
		return true;
	if (path->fresh)
		path->time = decoder->out.time;
	path->fresh = false;
	native_output_time(&decoder->out, time);
	return true;
}

/*
 * Decodes packets up to the first packet that this path cannot decode. Returns the number of remaining bits of a TNT
 * packet; *bits: the bits.
 */
static unsigned take_packets(struct path *path, const uint8_t *limit, uint64_t *bits)
{
	while (path->walk.at < limit) {
		uint64_t word = common_load64(path->walk.at);
		unsigned left;

		if (!(word & 0xff)) {
			path->walk.at += word ? __builtin_ctzll(word) / 8 : 8;
			continue;
		}
		if ((word & 0xff) == FORMAT_PT_EXTENDED && FORMAT_PT_IS(word, TNT_64) && word >> 17) {
			*bits = word >> 16;
			path->walk.size = FORMAT_PT_SIZE_TNT_64;
		} else if (word & 1 || (word & 0xff) == FORMAT_PT_EXTENDED) {
			if (FORMAT_PT_IS(word, TIP) ? take_tip(path, word & 0xff) : take_time(path, word))
				continue;
			return 0;
		} else {
			*bits = (word & 0xff) >> 1;
			path->walk.size = 1;
		}
		left = 63 - (unsigned)__builtin_clzll(*bits);
		left = take_bits(path, *bits, left);
		if (left)
			return left;
		path->walk.at += path->walk.size;
	}
	return 0;
}

/* ---- the decoder's state ----------------------------------------------------------------------------------- */

static void end_step_path(struct path *path)
{
	struct native_decoder *decoder = path->walk.decoder;

	native_counter_walk_end(&path->walk);
	decoder->calls.runs = 0;
	if (decoder->out.status || (!path->fresh && !path->time))
		return;
	path->step.run = NULL;
	path->step.time = path->fresh ? decoder->out.time : path->time;
	give_step(path);
}

bool native_step_path(struct native_decoder *decoder)
{
	struct path path;
	uint64_t bits;
	unsigned left;

	if (!native_counter_walk_is_ready(decoder))
		return true;
	native_complete_stack(decoder);
	native_output_flush(&decoder->out);
	if (decoder->out.status)
		return false;
	if (!native_counter_walk_begin(&path.walk, decoder))
		return true;
	path.home_number = path.passed = 0;
	path.step = (struct flow_step){0};
	path.time = 0;
	path.fresh = false;
	path.stretches = &decoder->code->stretches;
	native_stretches_open(path.stretches);
	left = take_packets(&path, decoder->packets.end - PTL_PT_PACKET_MAX, &bits);
	end_step_path(&path);
	if (left && !decoder->out.status) {
		native_take_bits(decoder, bits, left);
		decoder->packets.at += path.walk.size;
	}
	return !decoder->failed && !decoder->out.status;
}
