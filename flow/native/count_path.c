/* SPDX-License-Identifier: BSD-2-Clause */
/* Follows packets from counter to counter, with a single load for each TNT bit. */
#include "flow/native/count_path.h"

#include "flow/native/counter_walk.h"
#include "flow/native/fast_path.h"
#include "flow/native/gap.h"
#include "flow/native/interleaved_packet.h"
#include "flow/native/return_stack.h"
#include "flow/native/walk.h"

#define INLINE static inline __attribute__((always_inline))

/* maximum number of bytes decoded at once, and of regions left in each byte: see native_counters_steps */
#define BYTES_MAX (1 << 24)
#define REGIONS_A_BYTE (6 * (NATIVE_PASSED_MAX + 1))

_Static_assert(BYTES_MAX *REGIONS_A_BYTE <= NATIVE_COUNTER_STEPS, "counts do not overflow");

/* number of bytes whose sums fit into a counter's sums */
#define SUMMED_BYTES 4096

_Static_assert((uint64_t)SUMMED_BYTES * 6 * NATIVE_RUN_INSTRUCTIONS < NATIVE_COUNTER_BLOCK, "instructions fit");
_Static_assert((uint64_t)SUMMED_BYTES * 6 * NATIVE_REGION_BLOCKS <= UINT64_MAX / NATIVE_COUNTER_BLOCK, "blocks fit");

/* The state of decoder and output during the path. */
struct path {
	struct native_counter_walk walk;
	uint64_t instructions, blocks, branches;
	uint64_t sums; /* sums of counters that are not yet in `instructions`, `blocks` and `branches` */
	uint32_t last; /* number of the region left last; 0: no region was left */
	unsigned last_way;
	struct native_count_edge *last_edge; /* edge of the last region's TIP; NULL: the region was left without TIP */
};

/* ---- leaving regions --------------------------------------------------------------------------------------- */

static inline void remember_way(struct path *path, unsigned way)
{
	path->last = path->walk.here;
	path->last_way = way;
	path->last_edge = NULL;
}

/*
 * Counts the region at `here` as left by `way`; works for any region. Returns false without memory: then nothing was
 * counted.
 */
static bool count_leave_region(struct path *path, const struct native_region *region, unsigned way)
{
	const struct native_run *run = &region->run;

	if (!native_counter_walk_calls(&path->walk, region))
		return false;
	native_counter_walk_here(&path->walk)->count[way]++;
	path->instructions += run->run.instructions;
	path->blocks += run->run.count;
	path->branches += run->run.branches;
	remember_way(path, way);
	native_counter_make_plain(&path->walk.decoder->code->counters, region);
	return true;
}

/* As count_leave_region, for a plain counter. */
static inline void leave_plain(struct path *path, struct native_counter *counter)
{
	counter->count[0]++;
	path->sums += counter->sums;
	if (counter->push)
		native_counter_walk_push_plain(&path->walk, counter->push);
	remember_way(path, 0);
}

/* ---- regions that no packet decides ------------------------------------------------------------------------ */

/* Moves to the region in which a packet decides. Returns NULL, without any change, if this path cannot follow. */
static struct native_region *count_settle_region(struct path *path)
{
	struct native_passed passed;
	struct native_region *region = native_counter_walk_decision(&path->walk, &passed);

	for (uint32_t i = 0; i < passed.count; i++) {
		path->walk.here = passed.numbers[i];
		if (!count_leave_region(path, native_counter_walk_counted(&path->walk, passed.numbers[i])->region, 0))
			return NULL;
	}
	if (region)
		path->walk.here = passed.here;
	return region;
}

/* ---- TNT bits ---------------------------------------------------------------------------------------------- */

/* Follows any TNT bit. Returns false, without following the bit, if this path cannot. */
static __attribute__((noinline)) bool count_step(struct path *path, unsigned taken)
{
	struct native_region *region = count_settle_region(path);
	const uint32_t to = region ? native_counter_walk_target(&path->walk, region, taken) : 0;

	if (!to || !count_leave_region(path, region, taken))
		return false;
	native_counter_walk_go(&path->walk, region, taken, to);
	return true;
}

/*
 * Follows bits whose targets the counters know. Returns the number of remaining bits. counting: whether counts are
 * wanted; a constant.
 */
INLINE unsigned follow_known(struct path *path, uint64_t bits, unsigned count, bool counting)
{
	struct native_counter *const table = path->walk.table;
	const unsigned before = count;
	uint64_t here = path->walk.here, last = path->last;
	uint64_t sums = 0;

	/* The oldest bit becomes the highest bit of all. */
	bits <<= 64 - count;
	do {
		const uint64_t from = here;
		struct native_counter *const counter = native_counter_at(table, (uint32_t)from);

		here = native_counter_next(native_counter_way(table, bits >> 63), from);
		if (!here) {
			here = from;
			if (!counter->plain || counter->decision != NATIVE_RETURN || !(bits >> 63) ||
			    (!counter->push && path->walk.depth == path->walk.known))
				break;
			if (counter->push)
				native_counter_walk_push_plain(&path->walk, counter->push);
			path->walk.depth--;
			here = path->walk.calls[--path->walk.top % NATIVE_STACK];
		} else if (counter->push) {
			native_counter_walk_push_plain(&path->walk, counter->push);
		}
		if (counting)
			counter->count[bits >> 63]++;
		sums += counter->sums;
		last = from;
		bits <<= 1;
	} while (--count);
	path->walk.here = (uint32_t)here;
	path->sums += sums;
	if (counting && count != before) {
		path->last = (uint32_t)last;
		path->last_edge = NULL;
	}
	return count;
}

static inline unsigned count_known_bits(struct path *path, uint64_t bits, unsigned count)
{
	unsigned left;

	if (!count)
		return 0;
	if (!path->walk.decoder->code->counters.sink)
		return follow_known(path, bits, count, false);
	left = follow_known(path, bits, count, true);
	if (left != count)
		path->last_way = bits >> left & 1;
	return left;
}

/* ---- packets ----------------------------------------------------------------------------------------------- */

/* Finds the counter at a TIP's address, and stores the counter in the table of targets. Returns 0 without memory. */
static __attribute__((noinline)) uint32_t find_target(struct path *path, uint64_t ip)
{
	struct native_decoder *decoder = path->walk.decoder;
	struct native_region *region = native_target_get(decoder->code, ip, decoder->mode);
	uint32_t to;

	/* An edge needs a block as its target, but a stub has no blocks. */
	if (region && region->stub)
		region = native_region_follow(decoder->code, region, 0);
	to = native_counter_walk_number(&path->walk, region);
	if (to)
		*native_counters_target(&decoder->code->counters,
					ip) = (struct native_count_target){native_target_tag(ip, decoder->mode), to};
	return to;
}

/* Finds or makes the edge from the current region to `to`. Returns NULL without memory. */
static __attribute__((noinline)) struct native_count_edge *find_edge(struct path *path, uint64_t ip, uint32_t to)
{
	struct native_counters *counters = &path->walk.decoder->code->counters;
	struct native_count_edge *edge = native_counters_edge_place(counters, path->walk.here, ip);

	if (!edge ||
	    ((edge->ip != ip || edge->from != path->walk.here || edge->to != to) &&
	     !native_counters_edge_put(counters, edge,
				       &(struct native_count_edge){.ip = ip, .from = path->walk.here, .to = to})))
		return NULL;
	return edge;
}

/*
 * Handles a TIP without a FUP: the branch at the region's end leads to ip. Returns false if this path cannot. The
 * target depends on ip only, so its load does not wait for the current counter.
 */
INLINE bool take_target(struct path *path, uint64_t ip)
{
	struct native_counters *counters = &path->walk.decoder->code->counters;
	const struct native_count_target *target = native_counters_target(counters, ip);
	const bool known = target->tag == native_target_tag(ip, path->walk.decoder->mode);
	const uint32_t to = __builtin_expect(known, 1) ? (uint32_t)target->to : find_target(path, ip);
	const struct native_region *region = NULL;
	struct native_count_edge *edge = NULL;
	uint8_t decision;

	if (!native_counter_walk_here(&path->walk)->plain) {
		region = count_settle_region(path);
		if (!region)
			return false;
	}
	decision = native_counter_walk_here(&path->walk)->decision;
	if (!to || decision == NATIVE_CONDITIONAL || decision >= NATIVE_CONTINUE)
		return false;
	if (counters->sink) {
		edge = find_edge(path, ip, to);
		if (!edge)
			return false;
	}
	if (!region)
		leave_plain(path, native_counter_walk_here(&path->walk));
	else if (!count_leave_region(path, region, 0))
		return false;
	if (decision == NATIVE_RETURN)
		native_counter_walk_pop(&path->walk);
	if (edge)
		edge->count++;
	path->last_edge = edge;
	path->walk.here = to;
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

/* Handles MTC or any other packet of time. Returns false for another packet. */
static bool take_time(struct path *path, uint64_t word)
{
	struct native_decoder *decoder = path->walk.decoder;
	struct ptl_pt_context context = decoder->packets.context;
	struct ptl_pt_packet packet = {.kind = PTL_PT_PAD};
	int size;

	if (native_is_mtc(word)) {
		flow_clock_mtc(&decoder->clock, (uint8_t)(word >> 8));
		path->walk.at += FORMAT_PT_SIZE_MTC;
		return true;
	}
	size = native_read(decoder, path->walk.at, &context, &packet);
	if (size < 0 || decoder->guest.own_tsc ||
	    (packet.kind != PTL_PT_TSC && packet.kind != PTL_PT_TMA && packet.kind != PTL_PT_CYC))
		return false;
	flow_clock_settle(&decoder->clock);
	flow_clock_packet(&decoder->clock, &packet);
	path->walk.at += size;
	return true;
}

/* Checks whether the TNT16 cache may take the next packets. */
static bool is_dense(const struct path *path, const struct native_interleaved *slot, uint64_t word)
{
	return native_is_full_tnt(word) && path->walk.at >= slot->refused &&
	       native_is_full_tnt(common_load64(path->walk.at + FORMAT_PT_SIZE_TNT_64));
}

static void settle_sums(struct path *path)
{
	path->instructions += path->sums & (NATIVE_COUNTER_BLOCK - 1);
	path->blocks += path->sums / NATIVE_COUNTER_BLOCK;
	path->branches += path->sums / NATIVE_COUNTER_BLOCK;
	path->sums = 0;
}

/* Checks whether to continue. *until: an offset up to the limit, near enough for the sums. */
static inline bool goes_on(struct path *path, const uint8_t *limit, const uint8_t **until)
{
	if (__builtin_expect(path->walk.at < *until, 1))
		return true;
	settle_sums(path);
	*until = limit - path->walk.at > SUMMED_BYTES ? path->walk.at + SUMMED_BYTES : limit;
	return path->walk.at < limit;
}

/*
 * Decodes packets up to the first packet that this path cannot decode. Returns the number of remaining bits of a TNT
 * packet; *bits: the bits.
 */
static unsigned take_packets(struct path *path, const struct native_interleaved *slot, const uint8_t *limit,
			     uint64_t *bits)
{
	const uint8_t *until = path->walk.at;

	while (goes_on(path, limit, &until)) {
		uint64_t word = common_load64(path->walk.at);
		unsigned left;

		if (!(word & 0xff)) {
			path->walk.at += word ? __builtin_ctzll(word) / 8 : 8;
			continue;
		}
		if ((word & 0xff) == FORMAT_PT_EXTENDED) {
			if (!FORMAT_PT_IS(word, TNT_64) || !(word >> 17) || is_dense(path, slot, word))
				return 0;
			*bits = word >> 16;
			path->walk.size = FORMAT_PT_SIZE_TNT_64;
		} else if (word & 1) {
			if (FORMAT_PT_IS(word, TIP) ? take_tip(path, word & 0xff) : take_time(path, word))
				continue;
			return 0;
		} else {
			*bits = (word & 0xff) >> 1;
			path->walk.size = 1;
		}
		left = 63 - (unsigned)__builtin_clzll(*bits);
		while ((left = count_known_bits(path, *bits, left)) && count_step(path, *bits >> (left - 1) & 1))
			left--;
		if (left)
			return left;
		path->walk.at += path->walk.size;
	}
	return 0;
}

/* ---- the decoder's state ----------------------------------------------------------------------------------- */

/* Adds the last region to the batch, and takes the region's count back. */
static void give_last(struct path *path, const struct native_region *first)
{
	struct native_decoder *decoder = path->walk.decoder;
	struct native_counters *counters = &decoder->code->counters;
	const struct native_run *run = &native_counter_walk_counted(&path->walk, path->last)->region->run;

	native_counters_counted(counters, path->last)->count[path->last_way]--;
	if (path->last_edge)
		path->last_edge->count--;
	path->instructions -= run->run.instructions;
	path->blocks -= run->run.count;
	path->branches -= run->run.branches;
	if (path->blocks)
		native_output_put_counted(&decoder->out, first);
	native_output_run(&decoder->out, run);
}

static void end_count_path(struct path *path, const struct native_region *first)
{
	struct native_decoder *decoder = path->walk.decoder;
	struct native_packet_words *words = &decoder->code->packet_words;
	uint64_t time;

	settle_sums(path);
	native_counters_steps(&decoder->code->counters,
			      (uint32_t)(path->walk.at - decoder->packets.at) * REGIONS_A_BYTE);
	if (words->rest > 0)
		words->rest -= path->walk.at - decoder->packets.at;
	native_counter_walk_end(&path->walk);
	flow_clock_settle(&decoder->clock);
	decoder->out.cycles = decoder->clock.counted;
	time = flow_clock_time(&decoder->clock);
	if (time)
		native_output_time(&decoder->out, time);
	if (path->last && decoder->code->counters.sink)
		give_last(path, first);
	decoder->calls.runs = decoder->out.run_count;
	decoder->out.instructions += path->instructions;
	decoder->out.counted_blocks += path->blocks;
	decoder->out.branches += path->branches;
}

bool native_count_path(struct native_decoder *decoder, const struct native_interleaved *slot)
{
	const ptrdiff_t bytes = decoder->packets.end - decoder->packets.at - PTL_PT_PACKET_MAX;
	const struct native_region *first = decoder->region;
	struct path path;
	uint64_t bits;
	unsigned left;

	if (!native_counter_walk_is_ready(decoder))
		return true;
	native_complete_stack(decoder);
	if (!native_counter_walk_begin(&path.walk, decoder))
		return true;
	path.instructions = path.blocks = path.branches = path.sums = 0;
	path.last = path.last_way = 0;
	path.last_edge = NULL;
	left = take_packets(&path, slot, path.walk.at + (bytes < BYTES_MAX ? bytes : BYTES_MAX), &bits);
	end_count_path(&path, first);
	if (left) {
		native_take_bits(decoder, bits, left);
		decoder->packets.at += path.walk.size;
	}
	return !decoder->failed && !decoder->out.status;
}
