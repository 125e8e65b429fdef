/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Follows packets from counter to counter, as count_path.c does, and gives the consumer each run of blocks but for those
 * that it lets pass.
 */
#include "flow/native/step_path.h"

#include "common/bytes.h"
#include "flow/native/fast_path.h"
#include "flow/native/interleaved_tnt.h"
#include "format/pt/last_ip.h"

/* Regions in a row that no packet decides: more may be an endless loop. */
#define PASSED_MAX 16

/* The state of the decoder that is changed. */
struct path {
	struct native_decoder *decoder;
	struct native_counter *table;
	const uint8_t *at;
	unsigned size; /* of the packet at hand, if it is a TNT packet */
	uint64_t last_ip;
	uint32_t here; /* the counter of the region where flow is */
	uint32_t home; /* the consumer's */
	/* The return stack: those of the calls from `known` on are in `calls`, the older ones where the decoder has them. */
	unsigned top, depth, known;
	uint32_t calls[NATIVE_STACK]; /* counters, in a ring */
	/* Regions that were passed since the last step, the last one: */
	uint64_t instructions;
	uint32_t passed; /* 0: none */
	bool fresh;      /* a region was left since the time is what it is, */
	uint64_t time;   /* and else this is the time of the last that was; 0: none was */
};

static struct native_counted *counted_of(const struct path *path, uint32_t number)
{
	return &path->decoder->code->counters.counted[number];
}

/* 0 without memory, or a region. */
static uint32_t counter_of(struct path *path, struct native_region *region)
{
	const uint32_t number = region ? native_counter_of(path->decoder->code, region) : 0;

	path->table = path->decoder->code->counters.table;
	return number;
}

/* ---- steps ----------------------------------------------------------------------------------------------- */

static bool give(struct path *path, const struct flow_step *step)
{
	struct native_output *out = &path->decoder->out;

	out->status = out->sink->step(out->sink->step_context, step, &path->home);
	path->instructions = 0;
	path->passed = 0;
	return out->status == 0;
}

/* All of the region at hand was executed. False: the consumer wants no more. */
static bool take_run(struct path *path)
{
	struct native_counter *counter = &path->table[path->here];

	path->fresh = true;
	if (counter->step.home == path->home && path->home) {
		path->instructions += counted_of(path, path->here)->run.instructions;
		path->passed = path->here;
		return true;
	}
	return give(path, &(struct flow_step){
				  .run = &counted_of(path, path->here)->run,
				  .passed = path->passed ? &counted_of(path, path->passed)->run : NULL,
				  .instructions = path->instructions,
				  .time = path->decoder->out.time,
				  .tag = &counter->step.tag,
				  .home = &counter->step.home,
			  });
}

/* ---- the return stack ------------------------------------------------------------------------------------ */

static void pop(struct path *path)
{
	if (!path->depth) {
		path->decoder->calls.missing++;
		return;
	}
	path->depth--;
	path->top--;
	if (path->known > path->depth)
		path->known = path->depth;
}

static inline void push(struct path *path, uint32_t number)
{
	path->calls[path->top++ % NATIVE_STACK] = number;
	if (path->depth < NATIVE_STACK)
		path->depth++;
	else if (path->known)
		path->known--;
}

/* Calls of the region: finds out where they return to. False without memory: nothing was done. */
static bool push_calls(struct path *path, const struct native_run *run, unsigned mode)
{
	struct native_code *code = path->decoder->code;

	for (uint32_t i = 0; i < run->push_count; i++)
		if (!counter_of(path, native_return_site_follow(code, run->pushes[i], mode)))
			return false;
	for (uint32_t i = 0; i < run->push_count; i++)
		push(path, run->pushes[i]->region->counter);
	return true;
}

/* ---- leaving regions --------------------------------------------------------------------------------------- */

/* Leaves the region at hand, whatever it has. False: nothing was done for lack of memory, or the consumer wants no more. */
static bool leave(struct path *path, const struct native_region *region)
{
	const struct native_run *run = &region->run;
	struct native_counter *counter;

	if (!push_calls(path, run, region->mode))
		return false;
	counter = &path->table[path->here];
	/* From now on the counter is enough. */
	if (run->push_count <= 1 && run->run.branches == run->run.count && region->decision < NATIVE_CONTINUE) {
		counter->push = run->push_count ? run->pushes[0]->region->counter : 0;
		counter->plain = true;
	}
	return !run->run.count || take_run(path);
}

/* The region of the counter, made again if its code has changed; NULL without memory. */
static struct native_region *refresh(struct path *path, uint32_t *number)
{
	struct native_region *region = counted_of(path, *number)->region;

	if (region->stub)
		region = native_region_follow(path->decoder->code, region, 0);
	*number = counter_of(path, region);
	return *number ? region : NULL;
}

/* Goes to where a packet decides; NULL: that is not for this path, and nothing was done, or the consumer wants no more. */
static struct native_region *settle(struct path *path)
{
	uint32_t numbers[PASSED_MAX], number = path->here, passed = 0;
	struct native_region *region = refresh(path, &number);

	while (region && region->decision == NATIVE_CONTINUE) {
		if (passed == PASSED_MAX)
			return NULL;
		numbers[passed++] = number;
		number = counter_of(path, native_region_follow(path->decoder->code, region, 0));
		region = number ? refresh(path, &number) : NULL;
	}
	if (!region)
		return NULL;
	for (uint32_t i = 0; i < passed; i++) {
		path->here = numbers[i];
		if (!leave(path, counted_of(path, numbers[i])->region))
			return NULL;
	}
	path->here = number;
	return region;
}

/* ---- TNT bits ---------------------------------------------------------------------------------------------- */

/* Where a compressed return leads; 0: to a call that is not known. */
static uint32_t return_target(struct path *path, const struct native_region *region)
{
	const struct native_run *run = &region->run;
	const unsigned newest = (path->top - 1) % NATIVE_STACK;
	struct native_return_site *return_site;

	if (run->push_count)
		return_site = run->pushes[run->push_count - 1];
	else if (path->depth > path->known)
		return path->calls[newest];
	else if (path->depth)
		return_site = path->decoder->calls.sites[newest];
	else
		return 0;
	return counter_of(path, native_return_site_follow(path->decoder->code, return_site, region->mode));
}

/* Any TNT bit; false: it is not for this path, and not taken. */
static __attribute__((noinline)) bool take_bit(struct path *path, unsigned taken)
{
	struct native_region *region = settle(path);
	uint32_t to = 0;

	if (region && region->decision == NATIVE_CONDITIONAL)
		to = counter_of(path, native_region_follow(path->decoder->code, region, taken));
	else if (region && region->decision == NATIVE_RETURN && taken)
		to = return_target(path, region);
	if (!to || !leave(path, region))
		return false;
	if (region->decision == NATIVE_RETURN)
		pop(path);
	else if (path->table[path->here].plain)
		path->table[path->here].next[taken] = to;
	path->here = to;
	return true;
}

/* Takes bits by what counters know; returns how many are left. */
static inline unsigned take_known(struct path *path, uint64_t bits, unsigned count)
{
	struct native_counter *const table = path->table;
	uint32_t here = path->here, home = path->home;

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
			      (!counter->push && path->depth == path->known)))
			break;
		path->here = here;
		if (!take_run(path))
			break;
		if (counter->push)
			push(path, counter->push);
		if (!next) {
			path->depth--;
			next = path->calls[--path->top % NATIVE_STACK];
		}
		home = path->home;
		here = next;
		count--;
	}
	path->here = here;
	return count;
}

/* ---- packets ----------------------------------------------------------------------------------------------- */

/* Finds where the TIP leads, and puts that into the place. False: it is not for this path. */
static bool find_target(struct path *path, uint64_t ip, struct native_count_edge *place)
{
	struct native_code *code = path->decoder->code;
	const uint32_t to = counter_of(path, native_target_get(code, ip, path->decoder->mode));

	return to && native_counters_edge_put(&code->counters, place,
					      &(struct native_count_edge){.ip = ip, .from = path->here, .to = to});
}

/* A TIP without FUP: the branch at the region's end leads to ip. False: it is not for this path. */
static bool take_target(struct path *path, uint64_t ip)
{
	const struct native_region *region = NULL;
	struct native_count_edge *edge;
	uint8_t decision;

	if (!path->table[path->here].plain) {
		region = settle(path);
		if (!region)
			return false;
	}
	decision = path->table[path->here].decision;
	if (decision == NATIVE_CONDITIONAL || decision >= NATIVE_CONTINUE)
		return false;
	edge = native_counters_edge_place(&path->decoder->code->counters, path->here, ip);
	if (!edge || ((edge->ip != ip || edge->from != path->here) && !find_target(path, ip, edge)))
		return false;
	if (region ? !leave(path, region) : !take_run(path))
		return false;
	if (!region && path->table[path->here].push)
		push(path, path->table[path->here].push);
	if (decision == NATIVE_RETURN)
		pop(path);
	path->here = edge->to;
	return true;
}

static bool take_tip(struct path *path, unsigned first)
{
	const unsigned form = first >> FORMAT_PT_IP_SHIFT;
	const unsigned size = format_pt_ip_size(form);
	uint64_t ip;

	if (!form || size > 8)
		return false;
	ip = format_pt_ip_expand(path->last_ip, (uint8_t)form,
				 common_load64(path->at + 1) & (~0ull >> (64 - 8 * size)));
	if (!take_target(path, ip))
		return false;
	path->last_ip = ip;
	path->at += 1 + size;
	return true;
}

/* A packet of time; false: it is none, or code changes then. */
static bool take_time(struct path *path)
{
	struct native_decoder *decoder = path->decoder;
	struct ptl_pt_context context = decoder->packets.context;
	struct ptl_pt_packet packet = {.kind = PTL_PT_PAD};
	struct flow_clock clock = decoder->clock;
	const int size = native_read(decoder, path->at, &context, &packet);
	uint64_t time;

	if (size < 0 || (packet.kind != PTL_PT_TSC && packet.kind != PTL_PT_TMA && packet.kind != PTL_PT_MTC &&
			 packet.kind != PTL_PT_CYC))
		return false;
	flow_clock_packet(&clock, &packet);
	time = flow_clock_time(&clock);
	if (time && decoder->recode.select && time >= decoder->recode.until)
		return false;
	decoder->clock = clock;
	path->at += size;
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
	while (path->at < limit) {
		uint64_t word = common_load64(path->at);
		unsigned left;

		if (!(word & 0xff)) {
			path->at += word ? __builtin_ctzll(word) / 8 : 8;
			continue;
		}
		if ((word & 0xff) == FORMAT_PT_EXTENDED && FORMAT_PT_IS(word, TNT_64) && word >> 17) {
			*bits = word >> 16;
			path->size = FORMAT_PT_SIZE_TNT_64;
		} else if (word & 1 || (word & 0xff) == FORMAT_PT_EXTENDED) {
			if (FORMAT_PT_IS(word, TIP) ? take_tip(path, word & 0xff) : take_time(path))
				continue;
			return 0;
		} else {
			*bits = (word & 0xff) >> 1;
			path->size = 1;
		}
		left = 63 - (unsigned)__builtin_clzll(*bits);
		while ((left = take_known(path, *bits, left)) && !path->decoder->out.status &&
		       take_bit(path, *bits >> (left - 1) & 1))
			left--;
		if (left)
			return left;
		path->at += path->size;
	}
	return 0;
}

/* ---- the decoder's state ----------------------------------------------------------------------------------- */

static void end(struct path *path)
{
	struct native_decoder *decoder = path->decoder;

	decoder->packets.at = path->at;
	decoder->packets.last_ip = path->last_ip;
	decoder->region = counted_of(path, path->here)->region;
	decoder->calls.top = path->top;
	decoder->calls.count = path->depth;
	for (unsigned i = path->top - (path->depth - path->known); i != path->top; i++)
		decoder->calls.sites[i % NATIVE_STACK] = &counted_of(path, path->calls[i % NATIVE_STACK])->region->here;
	decoder->calls.runs = 0;
	if (!decoder->out.status && (path->fresh || path->time))
		give(path, &(struct flow_step){
				   .passed = path->passed ? &counted_of(path, path->passed)->run : NULL,
				   .instructions = path->instructions,
				   .time = path->fresh ? decoder->out.time : path->time,
			   });
}

/* Whether the packet may be one for this path: else what is prepared for it is in vain. */
static bool is_frequent(uint64_t word)
{
	switch (word & FORMAT_PT_MASK_ADDRESS) {
	case FORMAT_PT_MATCH_TIP_PGE:
	case FORMAT_PT_MATCH_TIP_PGD:
	case FORMAT_PT_MATCH_FUP:
		return false;
	default:
		return (word & 0xff) != FORMAT_PT_EXTENDED || FORMAT_PT_IS(word, TNT_64);
	}
}

/* Whether counters can follow flow from where it is. */
static bool is_ready(const struct native_decoder *decoder)
{
	const struct native_region *region = decoder->region;

	return region && region->run.run.count && region->mode == decoder->mode &&
	       native_fast_path_may_begin(decoder) && decoder->packets.end - decoder->packets.at > PTL_PT_PACKET_MAX &&
	       is_frequent(common_load64(decoder->packets.at));
}

/* The ring of calls is not cleared. */
static void begin(struct path *path, struct native_decoder *decoder)
{
	path->decoder = decoder;
	path->at = decoder->packets.at;
	path->last_ip = decoder->packets.last_ip;
	path->top = decoder->calls.top;
	path->depth = path->known = decoder->calls.count;
	path->home = path->passed = 0;
	path->instructions = path->time = 0;
	path->fresh = false;
}

bool native_step_path(struct native_decoder *decoder)
{
	struct path path;
	uint64_t bits;
	unsigned left;

	if (!is_ready(decoder))
		return true;
	native_complete_stack(decoder);
	native_output_flush(&decoder->out);
	if (decoder->out.status)
		return false;
	begin(&path, decoder);
	path.here = counter_of(&path, decoder->region);
	if (!path.here)
		return true;
	left = take_packets(&path, decoder->packets.end - PTL_PT_PACKET_MAX, &bits);
	end(&path);
	if (left && !decoder->out.status) {
		native_take_bits(decoder, bits, left);
		decoder->packets.at += path.size;
	}
	return !decoder->failed && !decoder->out.status;
}
