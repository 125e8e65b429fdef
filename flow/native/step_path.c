/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Follows packets from counter to counter, as count_path.c does, and gives the consumer each run of blocks but for those
 * that it lets pass.
 */
#include "flow/native/step_path.h"

#include "flow/native/counter_walk.h"
#include "flow/native/fast_path.h"
#include "flow/native/interleaved_tnt.h"

/* The state of the decoder that is changed. */
struct path {
	struct native_counter_walk walk;
	uint32_t home; /* the consumer's */
	/* Regions that were passed since the last step, the last one: */
	uint64_t instructions;
	uint32_t passed; /* 0: none */
	bool fresh;      /* a region was left since the time is what it is, */
	uint64_t time;   /* and else this is the time of the last that was; 0: none was */
};

/* ---- steps ----------------------------------------------------------------------------------------------- */

static bool give(struct path *path, const struct flow_step *step)
{
	struct native_output *out = &path->walk.decoder->out;

	out->status = out->sink->step(out->sink->step_context, step, &path->home);
	path->instructions = 0;
	path->passed = 0;
	return out->status == 0;
}

/* All of the region at hand was executed. False: the consumer wants no more. */
static bool take_run(struct path *path)
{
	struct native_counter *counter = &path->walk.table[path->walk.here];

	path->fresh = true;
	if (counter->step.home == path->home && path->home) {
		path->instructions += native_counter_walk_counted(&path->walk, path->walk.here)->run.instructions;
		path->passed = path->walk.here;
		return true;
	}
	return give(path, &(struct flow_step){
				  .run = &native_counter_walk_counted(&path->walk, path->walk.here)->run,
				  .passed = path->passed ? &native_counter_walk_counted(&path->walk, path->passed)->run
							 : NULL,
				  .instructions = path->instructions,
				  .time = path->walk.decoder->out.time,
				  .tag = &counter->step.tag,
				  .home = &counter->step.home,
			  });
}

/* ---- leaving regions --------------------------------------------------------------------------------------- */

/* Leaves the region at hand, whatever it has. False: nothing was done for lack of memory, or the consumer wants no more. */
static bool leave(struct path *path, const struct native_region *region)
{
	if (!native_counter_walk_calls(&path->walk, region))
		return false;
	native_counter_walk_plain(&path->walk, region);
	return !region->run.run.count || take_run(path);
}

/* Goes to where a packet decides; NULL: that is not for this path, and nothing was done, or the consumer wants no more. */
static struct native_region *settle(struct path *path)
{
	struct native_passed passed;
	struct native_region *region = native_counter_walk_decision(&path->walk, &passed);

	for (uint32_t i = 0; i < passed.count; i++) {
		path->walk.here = passed.numbers[i];
		if (!leave(path, native_counter_walk_counted(&path->walk, passed.numbers[i])->region))
			return NULL;
	}
	if (region)
		path->walk.here = passed.here;
	return region;
}

/* ---- TNT bits ---------------------------------------------------------------------------------------------- */

/* Any TNT bit; false: it is not for this path, and not taken. */
static __attribute__((noinline)) bool take_bit(struct path *path, unsigned taken)
{
	struct native_region *region = settle(path);
	const uint32_t to = region ? native_counter_walk_target(&path->walk, region, taken) : 0;

	if (!to || !leave(path, region))
		return false;
	native_counter_walk_go(&path->walk, region, taken, to);
	return true;
}

/* Takes bits by what counters know; returns how many are left. */
static inline unsigned take_known(struct path *path, uint64_t bits, unsigned count)
{
	struct native_counter *const table = path->walk.table;
	uint32_t here = path->walk.here, home = path->home;

	while (count) {
		struct native_counter *const counter = &table[here];
		uint32_t next = counter->next[bits >> (count - 1) & 1];

		if (next && counter->step.home == home && home) {
			path->instructions += counter->sums & (NATIVE_COUNTER_BLOCK - 1);
			path->passed = here;
			path->fresh = true;
			here = next;
			count--;
			continue;
		}
		if (!next && (!counter->plain || counter->decision != NATIVE_RETURN || !(bits >> (count - 1) & 1) ||
			      (!counter->push && path->walk.depth == path->walk.known)))
			break;
		path->walk.here = here;
		if (!take_run(path))
			break;
		if (counter->push)
			native_counter_walk_push(&path->walk, counter->push);
		if (!next) {
			path->walk.depth--;
			next = path->walk.calls[--path->walk.top % NATIVE_STACK];
		}
		home = path->home;
		here = next;
		count--;
	}
	path->walk.here = here;
	return count;
}

/* ---- packets ----------------------------------------------------------------------------------------------- */

/* Finds where the TIP leads, and puts that into the place. False: it is not for this path. */
static bool find_target(struct path *path, uint64_t ip, struct native_count_edge *place)
{
	struct native_code *code = path->walk.decoder->code;
	const uint32_t to = native_counter_walk_number(&path->walk,
						       native_target_get(code, ip, path->walk.decoder->mode));

	return to && native_counters_edge_put(&code->counters, place,
					      &(struct native_count_edge){.ip = ip, .from = path->walk.here, .to = to});
}

/* A TIP without FUP: the branch at the region's end leads to ip. False: it is not for this path. */
static bool take_target(struct path *path, uint64_t ip)
{
	const struct native_region *region = NULL;
	struct native_count_edge *edge;
	uint8_t decision;

	if (!path->walk.table[path->walk.here].plain) {
		region = settle(path);
		if (!region)
			return false;
	}
	decision = path->walk.table[path->walk.here].decision;
	if (decision == NATIVE_CONDITIONAL || decision >= NATIVE_CONTINUE)
		return false;
	edge = native_counters_edge_place(&path->walk.decoder->code->counters, path->walk.here, ip);
	if (!edge || ((edge->ip != ip || edge->from != path->walk.here) && !find_target(path, ip, edge)))
		return false;
	if (region ? !leave(path, region) : !take_run(path))
		return false;
	if (!region && path->walk.table[path->walk.here].push)
		native_counter_walk_push(&path->walk, path->walk.table[path->walk.here].push);
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

/* A packet of time; false: it is none, or code changes then. */
static bool take_time(struct path *path)
{
	struct native_decoder *decoder = path->walk.decoder;
	struct ptl_pt_context context = decoder->packets.context;
	struct ptl_pt_packet packet = {.kind = PTL_PT_PAD};
	struct flow_clock clock = decoder->clock;
	const int size = native_read(decoder, path->walk.at, &context, &packet);
	uint64_t time;

	if (size < 0 || (packet.kind != PTL_PT_TSC && packet.kind != PTL_PT_TMA && packet.kind != PTL_PT_MTC &&
			 packet.kind != PTL_PT_CYC))
		return false;
	flow_clock_packet(&clock, &packet);
	time = flow_clock_time(&clock);
	if (time && decoder->recode.select && time >= decoder->recode.until)
		return false;
	decoder->clock = clock;
	path->walk.at += size;
	if (!time || time == decoder->out.time)
		return true;
	if (path->fresh)
		path->time = decoder->out.time;
	path->fresh = false;
	native_output_time(&decoder->out, time);
	return true;
}

/* Packets up to one that is not for this path; returns how many bits are left of a TNT packet, which are in *bits. */
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
			if (FORMAT_PT_IS(word, TIP) ? take_tip(path, word & 0xff) : take_time(path))
				continue;
			return 0;
		} else {
			*bits = (word & 0xff) >> 1;
			path->walk.size = 1;
		}
		left = 63 - (unsigned)__builtin_clzll(*bits);
		while ((left = take_known(path, *bits, left)) && !path->walk.decoder->out.status &&
		       take_bit(path, *bits >> (left - 1) & 1))
			left--;
		if (left)
			return left;
		path->walk.at += path->walk.size;
	}
	return 0;
}

/* ---- the decoder's state ----------------------------------------------------------------------------------- */

static void end(struct path *path)
{
	struct native_decoder *decoder = path->walk.decoder;

	native_counter_walk_end(&path->walk);
	decoder->calls.runs = 0;
	if (!decoder->out.status && (path->fresh || path->time))
		give(path, &(struct flow_step){
				   .passed = path->passed ? &native_counter_walk_counted(&path->walk, path->passed)->run
							  : NULL,
				   .instructions = path->instructions,
				   .time = path->fresh ? decoder->out.time : path->time,
			   });
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
	path.home = path.passed = 0;
	path.instructions = path.time = 0;
	path.fresh = false;
	left = take_packets(&path, decoder->packets.end - PTL_PT_PACKET_MAX, &bits);
	end(&path);
	if (left && !decoder->out.status) {
		native_take_bits(decoder, bits, left);
		decoder->packets.at += path.walk.size;
	}
	return !decoder->failed && !decoder->out.status;
}
