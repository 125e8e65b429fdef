/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Follows packets from counter to counter, as count_path.c does, and gives the consumer each run of blocks except the
 * passed runs. If the consumer's states have numbers, the effects of packets are remembered and repeated.
 */
#include "flow/native/step_path.h"

#include "flow/native/counter_walk.h"
#include "flow/native/fast_path.h"
#include "flow/native/interleaved_tnt.h"

/* The decoder's state during the path. */
struct path {
	struct native_counter_walk walk;
	uint32_t home_number;  /* home of the consumer */
	struct flow_step step; /* the next step, as far as known */
	uint32_t passed;       /* last region passed since the last step; 0: no region was passed */
	bool fresh;            /* a region was left since the time last changed */
	uint64_t time;         /* if not fresh: time of the last region that was left; 0: no region was left */

	/* For remembered steps: */
	struct native_step_memory *memory; /* NULL: steps are not remembered */
	const struct flow_step_states *consumer;
	uint32_t state;    /* number of the state of flow and consumer; 0: the state has no number */
	bool ahead;        /* the walk's region and calls, and the consumer, are still in an earlier state */
	uint64_t ticked;   /* last time given to the consumer */
	uint64_t missing;  /* the decoder's calls.missing at the last numbered state */
	unsigned numbered; /* number of calls, from the oldest call on, whose contexts are in the rings below */
	/*
	 * place of the oldest call in its ring when the contexts were stored; the contexts are valid while the place is
	 * unchanged
	 */
	unsigned oldest;
	/* as rings: contexts of the calls, and the calls themselves */
	uint32_t contexts[NATIVE_STACK], of_calls[NATIVE_STACK];
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

/* Follows bits whose targets the counters know. Returns the number of remaining bits. */
static inline unsigned step_known_bits(struct path *path, uint64_t bits, unsigned count)
{
	struct native_counter *const table = path->walk.table;
	uint32_t here = path->walk.here;

	/* The oldest bit becomes the highest bit of all. */
	bits <<= 64 - count;
	do {
		uint32_t home_number = path->home_number ? path->home_number : NO_HOME, next, passed = 0;
		struct native_counter *counter;
		uint64_t sums = 0;

		do {
			counter = native_counter_at(table, here);
			next = counter->next[bits >> 63];
			if (counter->step.home_number != home_number || (!next && !returns(path, counter, bits >> 63)))
				break;
			if (!next) {
				next = pop(path);
				home_number = NO_HOME;
			}
			sums += counter->sums;
			passed = here;
			here = next;
			bits <<= 1;
		} while (--count);
		if (passed)
			pass_region(path, passed, sums, home_number == NO_HOME ? 0 : home_number);
		if (!count || (!next && !returns(path, counter, bits >> 63)))
			break;
		path->walk.here = here;
		/* Loads the next counter while the consumer handles the run. */
		__builtin_prefetch(native_counter_at(table, next));
		if (!give_run(path, counter))
			break;
		if (counter->push)
			native_counter_walk_push_plain(&path->walk, counter->push);
		here = next ? next : pop(path);
		bits <<= 1;
	} while (--count);
	path->walk.here = here;
	return count;
}

/* Follows any bits. Returns the number of remaining bits. */
static inline unsigned take_bits(struct path *path, uint64_t bits, unsigned count)
{
	while (count && (count = step_known_bits(path, bits, count)) && !path->walk.decoder->out.status &&
	       take_bit(path, bits >> (count - 1) & 1))
		count--;
	return count;
}

/* ---- remembered steps --------------------------------------------------------------------------------------- */

/* Returns the ring number of the stack's oldest call. The number changes when the stack forgets a call. */
static inline unsigned oldest_call(const struct path *path)
{
	return path->walk.top - path->walk.depth;
}

/* Returns the place of a call in the ring. call: number of the call, from the oldest on. */
static inline unsigned place_of_call(const struct path *path, unsigned call)
{
	return (oldest_call(path) + call) % NATIVE_STACK;
}

/* Converts all calls of the stack to counters. Returns false if a call cannot be converted. */
static bool know_calls(struct path *path)
{
	struct native_decoder *decoder = path->walk.decoder;

	for (unsigned i = 0; i < path->walk.depth; i++) {
		const unsigned place = place_of_call(path, i);
		const uint32_t number = native_counter_walk_number(
			&path->walk,
			native_return_site_follow(decoder->code, decoder->calls.sites[place], decoder->mode));

		if (!number)
			return false;
		path->walk.calls[place] = number;
	}
	path->walk.known = 0;
	return true;
}

/* Finds the context of the walk's region and calls; 0: the context has no number. */
static uint32_t find_context(struct path *path)
{
	const struct native_counter_walk *walk = &path->walk;
	const unsigned oldest = oldest_call(path);
	uint32_t under = 0;

	/*
	 * The stack has forgotten its oldest calls. The rings belong to other calls now, although the calls may look
	 * alike.
	 */
	if (oldest != path->oldest)
		path->numbered = 0;
	path->oldest = oldest;
	for (unsigned i = 0; i < walk->depth; i++) {
		const unsigned place = place_of_call(path, i);

		if (i >= path->numbered || path->of_calls[place] != walk->calls[place]) {
			path->contexts[place] = native_step_context(path->memory, walk->calls[place], under);
			path->of_calls[place] = walk->calls[place];
			path->numbered = path->contexts[place] ? i + 1 : 0;
			if (!path->contexts[place])
				return 0;
		}
		under = path->contexts[place];
	}
	path->numbered = walk->depth;
	return native_step_context(path->memory, walk->here, under);
}

/* Sets the walk's region and calls to those of a context. */
static void go_to_context(struct path *path, uint32_t number)
{
	const struct native_step_context *contexts = path->memory->contexts;
	struct native_counter_walk *walk = &path->walk;
	const unsigned oldest = oldest_call(path);
	uint32_t under = contexts[number].under;

	walk->here = contexts[number].here;
	walk->depth = contexts[number].depth;
	walk->top = oldest + walk->depth;
	for (unsigned i = walk->depth; i-- > 0; under = contexts[under].under) {
		const unsigned place = (oldest + i) % NATIVE_STACK;

		if (i < path->numbered && path->contexts[place] == under)
			break;
		walk->calls[place] = path->of_calls[place] = contexts[under].here;
		path->contexts[place] = under;
	}
	path->numbered = walk->depth;
}

/* Moves flow and consumer to the current state, before steps are given. */
static void catch_up(struct path *path)
{
	const struct native_step_state *state;

	if (!path->state)
		return;
	state = &path->memory->states[path->state];
	if (path->ahead)
		go_to_context(path, state->context);
	path->home_number = path->consumer->go(path->walk.decoder->out.sink->step_context, state->consumer);
	path->ahead = false;
}

/* Gives the consumer the time, if changed. Returns the consumer's result. */
static inline int tick(struct path *path)
{
	const struct native_output *out = &path->walk.decoder->out;
	int status;

	if (__builtin_expect(out->time == path->ticked, 1))
		return 0;
	status = path->consumer->tick(out->sink->step_context, path->memory->states[path->state].consumer, out->time);
	if (!status)
		path->ticked = out->time;
	return status;
}

/*
 * Repeats the known effect of the packet in the state. Returns false if the effect is unknown, or if steps are needed.
 */
static inline bool do_again(struct path *path, uint32_t what)
{
	const uint64_t key = native_step_key(path->state, what);
	const struct native_step_entry *entry = native_step_place(path->memory, key);
	struct native_output *out = &path->walk.decoder->out;
	int status;

	if (__builtin_expect(entry->key != key, 0))
		return false;
	status = path->consumer->again ? path->consumer->again(out->sink->step_context, entry->effect, out->time)
				       : tick(path);
	if (status) {
		out->status = status < 0 ? status : 0;
		return false;
	}
	if (!path->consumer->again && !flow_step_count(path->consumer->effects, entry->effect))
		return false;
	path->memory->credit += native_step_worth(path->memory, what);
	path->state = entry->to;
	path->ahead = path->fresh = true;
	return true;
}

/* Remembers the effect of the steps just given from the state on. */
static __attribute__((noinline)) void learn_effect(struct path *path, uint32_t what)
{
	struct native_step_memory *memory = path->memory;
	struct native_decoder *decoder = path->walk.decoder;
	const uint32_t from = path->state;
	uint32_t consumer, context, effect = 0;

	path->state = 0;
	if (decoder->out.status)
		return;
	path->step.run = NULL;
	consumer = path->consumer->state(decoder->out.sink->step_context, complete_step(path), from ? &effect : NULL);
	forget_passed(path);
	if (memory->full || memory->generation != *path->consumer->generation) {
		native_step_memory_clear(memory);
		memory->generation = *path->consumer->generation;
		path->numbered = 0;
		return;
	}
	context = consumer && decoder->calls.missing == path->missing ? find_context(path) : 0;
	if (context)
		path->state = native_step_state(memory, context, consumer);
	path->missing = decoder->calls.missing;
	native_step_learn(memory, from ? native_step_key(from, what) : 0, path->state, effect);
	if (memory->credit < 0) {
		path->memory = NULL;
		path->state = 0;
	}
}

/* Follows up to NATIVE_STEP_BITS bits. Returns the number of remaining bits. */
static inline unsigned take_step(struct path *path, uint32_t bits, unsigned count)
{
	const uint32_t what = (bits & ((1u << count) - 1)) | 1u << count;
	unsigned left;

	if (path->state && do_again(path, what))
		return 0;
	if (path->walk.decoder->out.status)
		return count;
	catch_up(path);
	left = take_bits(path, bits, count);
	if (left)
		path->state = 0;
	else
		learn_effect(path, what);
	return left;
}

/* Follows the bits of a packet. Returns the number of remaining bits. */
static inline unsigned take_tnt(struct path *path, uint64_t bits, unsigned count)
{
	while (count && path->memory) {
		const unsigned first = (count - 1) % NATIVE_STEP_BITS + 1;
		const unsigned left = take_step(path, (uint32_t)(bits >> (count - first)), first);

		count -= first - left;
		if (left)
			return count;
	}
	return count ? take_bits(path, bits, count) : 0;
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

/* As take_target, for a step that may be known. */
static bool take_target_step(struct path *path, uint64_t ip)
{
	const struct native_decoder *decoder = path->walk.decoder;
	const struct native_count_target *target = native_counters_target(&decoder->code->counters, ip);
	const bool known = target->tag == native_target_tag(ip, decoder->mode);
	const uint32_t what = known ? (uint32_t)target->to | NATIVE_STEP_TIP : 0;

	if (path->state && what && do_again(path, what))
		return true;
	if (decoder->out.status)
		return false;
	catch_up(path);
	if (!take_target(path, ip)) {
		path->state = 0;
		return false;
	}
	if (!what)
		path->state = 0;
	learn_effect(path, what);
	return true;
}

static bool take_tip(struct path *path, unsigned first)
{
	uint64_t ip;
	const unsigned size = native_counter_walk_ip(&path->walk, first, &ip);

	if (!size || !(path->memory ? take_target_step(path, ip) : take_target(path, ip)))
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
		if (size < 0 || (packet.kind != PTL_PT_TSC && packet.kind != PTL_PT_TMA && packet.kind != PTL_PT_CYC))
			return false;
		flow_clock_packet(&clock, &packet);
	}
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
		left = take_tnt(path, *bits, left);
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

	native_step_memory_end(&decoder->code->steps, (uint64_t)(path->walk.at - decoder->packets.at));
	if (path->ahead)
		catch_up(path);
	native_counter_walk_end(&path->walk);
	decoder->calls.runs = 0;
	if (decoder->out.status || (!path->fresh && !path->time))
		return;
	path->step.run = NULL;
	path->step.time = path->fresh ? decoder->out.time : path->time;
	give_step(path);
}

/* Begins to remember steps, if remembering saves time. */
static void remember_steps(struct path *path)
{
	struct native_decoder *decoder = path->walk.decoder;
	const struct flow_step_states *consumer = decoder->out.sink->states;

	path->memory = native_step_memory_begin(&decoder->code->steps, consumer) && know_calls(path)
			       ? &decoder->code->steps
			       : NULL;
	path->consumer = consumer;
	path->state = 0;
	path->ahead = false;
	path->ticked = 0;
	path->missing = decoder->calls.missing;
	path->numbered = path->oldest = 0;
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
	remember_steps(&path);
	left = take_packets(&path, decoder->packets.end - PTL_PT_PACKET_MAX, &bits);
	end_step_path(&path);
	if (left && !decoder->out.status) {
		native_take_bits(decoder, bits, left);
		decoder->packets.at += path.walk.size;
	}
	return !decoder->failed && !decoder->out.status;
}
