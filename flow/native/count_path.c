/* SPDX-License-Identifier: BSD-2-Clause */
/* Follows packets from counter to counter, one load for a TNT bit. */
#include "flow/native/count_path.h"

#include "common/bytes.h"
#include "flow/native/fast_path.h"
#include "flow/native/interleaved_tnt.h"
#include "format/pt/last_ip.h"

#define INLINE static inline __attribute__((always_inline))

/* Regions in a row that no packet decides: more may be an endless loop. */
#define PASSED_MAX 16
/* Bytes that are taken at once, and regions that a byte may leave: see native_counters_steps. */
#define BYTES_MAX (1 << 24)
#define REGIONS_A_BYTE (6 * (PASSED_MAX + 1))

_Static_assert(BYTES_MAX *REGIONS_A_BYTE <= NATIVE_COUNTER_STEPS, "counts do not overflow");

/* Bytes whose sums fit those of a counter. */
#define SUMMED_BYTES 4096

_Static_assert((uint64_t)SUMMED_BYTES * 6 * NATIVE_RUN_INSTRUCTIONS < NATIVE_COUNTER_BLOCK, "instructions fit");
_Static_assert((uint64_t)SUMMED_BYTES * 6 * NATIVE_REGION_BLOCKS <= UINT64_MAX / NATIVE_COUNTER_BLOCK, "blocks fit");

/* The state of decoder and output that is changed. */
struct path {
	struct native_decoder *decoder;
	struct native_counter *table;
	const uint8_t *at;
	unsigned size; /* of the packet at hand, if it is a TNT packet */
	uint64_t last_ip;
	uint32_t here; /* the counter of the region where flow is */
	/* The return stack: those of the calls from `known` on are in `calls`, the older ones where the decoder has them. */
	unsigned top, depth, known;
	uint32_t calls[NATIVE_STACK]; /* counters, in a ring */
	uint64_t instructions, blocks, branches;
	uint64_t sums; /* of counters, that are not in these yet */
	uint32_t last; /* the region left last; 0: none was */
	unsigned last_way;
	struct native_count_edge *last_edge; /* that its TIP led over; NULL: it had none */
};

static struct native_region *region_of(const struct path *path, uint32_t number)
{
	return path->decoder->code->counters.counted[number].region;
}

/* 0 without memory, or a region. */
static uint32_t counter_of(struct path *path, struct native_region *region)
{
	const uint32_t number = region ? native_counter_of(path->decoder->code, region) : 0;

	path->table = path->decoder->code->counters.table;
	return number;
}

/* ---- leaving regions --------------------------------------------------------------------------------------- */

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

static inline void remember(struct path *path, unsigned way)
{
	path->last = path->here;
	path->last_way = way;
	path->last_edge = NULL;
}

/* Counts all of the region at hand, whatever it has. False without memory: nothing was done. */
static bool leave(struct path *path, const struct native_region *region, unsigned way)
{
	const struct native_run *run = &region->run;
	struct native_counter *counter;

	if (!push_calls(path, run, region->mode))
		return false;
	counter = &path->table[path->here];
	counter->count[way]++;
	path->instructions += run->run.instructions;
	path->blocks += run->run.count;
	path->branches += run->run.branches;
	remember(path, way);
	/* From now on the counter is enough. */
	if (run->push_count <= 1 && run->run.branches == run->run.count && region->decision < NATIVE_CONTINUE) {
		counter->push = run->push_count ? run->pushes[0]->region->counter : 0;
		counter->plain = true;
	}
	return true;
}

/* The same for one that is plain. */
static inline void leave_plain(struct path *path, struct native_counter *counter)
{
	counter->count[0]++;
	path->sums += counter->sums;
	if (counter->push)
		push(path, counter->push);
	remember(path, 0);
}

/* ---- regions that no packet decides ------------------------------------------------------------------------ */

/* The region of the counter, made again if its code has changed; NULL without memory. */
static struct native_region *refresh(struct path *path, uint32_t *number)
{
	struct native_region *region = region_of(path, *number);

	if (region->stub)
		region = native_region_follow(path->decoder->code, region, 0);
	*number = counter_of(path, region);
	return *number ? region : NULL;
}

/* Goes to where a packet decides; NULL: that is not for this path, and nothing was done. */
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
		if (!leave(path, region_of(path, numbers[i]), 0))
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
static __attribute__((noinline)) bool step(struct path *path, unsigned taken)
{
	struct native_region *region = settle(path);
	uint32_t to = 0;

	if (region && region->decision == NATIVE_CONDITIONAL)
		to = counter_of(path, native_region_follow(path->decoder->code, region, taken));
	else if (region && region->decision == NATIVE_RETURN && taken)
		to = return_target(path, region);
	if (!to || !leave(path, region, taken))
		return false;
	if (region->decision == NATIVE_RETURN)
		pop(path);
	else if (path->table[path->here].plain)
		path->table[path->here].next[taken] = to;
	path->here = to;
	return true;
}

/* Takes bits by what counters know; returns how many are left. `counting`: a constant, whether counts are wanted. */
INLINE unsigned follow_known(struct path *path, uint64_t bits, unsigned count, bool counting)
{
	struct native_counter *const table = path->table;
	const unsigned before = count;
	uint32_t here = path->here, last = path->last;
	uint64_t sums = 0;

	/* The oldest is the highest of all. */
	bits <<= 64 - count;
	do {
		struct native_counter *const counter = &table[here];
		uint32_t next = counter->next[bits >> 63];

		if (!next) {
			if (!counter->plain || counter->decision != NATIVE_RETURN || !(bits >> 63) ||
			    (!counter->push && path->depth == path->known))
				break;
			if (counter->push)
				push(path, counter->push);
			path->depth--;
			next = path->calls[--path->top % NATIVE_STACK];
		} else if (counter->push) {
			push(path, counter->push);
		}
		if (counting)
			counter->count[bits >> 63]++;
		sums += counter->sums;
		last = here;
		here = next;
		bits <<= 1;
	} while (--count);
	path->here = here;
	path->sums += sums;
	if (counting && count != before) {
		path->last = last;
		path->last_edge = NULL;
	}
	return count;
}

static inline unsigned take_known(struct path *path, uint64_t bits, unsigned count)
{
	unsigned left;

	if (!count)
		return 0;
	if (!path->decoder->code->counters.sink)
		return follow_known(path, bits, count, false);
	left = follow_known(path, bits, count, true);
	if (left != count)
		path->last_way = bits >> left & 1;
	return left;
}

/* ---- packets ----------------------------------------------------------------------------------------------- */

/* Finds where a TIP leads, and puts that into its place; 0: without memory. */
static __attribute__((noinline)) uint32_t find_target(struct path *path, uint64_t ip)
{
	struct native_decoder *decoder = path->decoder;
	const uint32_t to = counter_of(path, native_target_get(decoder->code, ip, decoder->mode));

	if (to)
		*native_counters_target(&decoder->code->counters,
					ip) = (struct native_count_target){native_target_tag(ip, decoder->mode), to};
	return to;
}

/* The edge from where flow is; NULL without memory. */
static __attribute__((noinline)) struct native_count_edge *find_edge(struct path *path, uint64_t ip, uint32_t to)
{
	struct native_counters *counters = &path->decoder->code->counters;
	struct native_count_edge *edge = native_counters_edge_place(counters, path->here, ip);

	if (!edge || ((edge->ip != ip || edge->from != path->here) &&
		      !native_counters_edge_put(counters, edge,
						&(struct native_count_edge){.ip = ip, .from = path->here, .to = to})))
		return NULL;
	return edge;
}

/*
 * A TIP without FUP: the branch at the region's end leads to ip. False: it is not for this path. Where flow goes on does not
 * wait for where it is.
 */
INLINE bool take_target(struct path *path, uint64_t ip)
{
	struct native_counters *counters = &path->decoder->code->counters;
	const struct native_count_target *target = native_counters_target(counters, ip);
	const bool known = target->tag == native_target_tag(ip, path->decoder->mode);
	const uint32_t to = __builtin_expect(known, 1) ? (uint32_t)target->to : find_target(path, ip);
	const struct native_region *region = NULL;
	struct native_count_edge *edge = NULL;
	uint8_t decision;

	if (!path->table[path->here].plain) {
		region = settle(path);
		if (!region)
			return false;
	}
	decision = path->table[path->here].decision;
	if (!to || decision == NATIVE_CONDITIONAL || decision >= NATIVE_CONTINUE)
		return false;
	if (counters->sink) {
		edge = find_edge(path, ip, to);
		if (!edge)
			return false;
	}
	if (!region)
		leave_plain(path, &path->table[path->here]);
	else if (!leave(path, region, 0))
		return false;
	if (decision == NATIVE_RETURN)
		pop(path);
	if (edge)
		edge->count++;
	path->last_edge = edge;
	path->here = to;
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

/* MTC; any other packet of time; false: it is none. */
static bool take_time(struct path *path, uint64_t word)
{
	struct native_decoder *decoder = path->decoder;
	struct ptl_pt_context context = decoder->packets.context;
	struct ptl_pt_packet packet = {.kind = PTL_PT_PAD};
	int size;

	if (native_is_mtc(word)) {
		flow_clock_mtc(&decoder->clock, (uint8_t)(word >> 8));
		path->at += FORMAT_PT_SIZE_MTC;
		return true;
	}
	size = native_read(decoder, path->at, &context, &packet);
	if (size < 0 || (packet.kind != PTL_PT_TSC && packet.kind != PTL_PT_TMA && packet.kind != PTL_PT_CYC))
		return false;
	flow_clock_settle(&decoder->clock);
	flow_clock_packet(&decoder->clock, &packet);
	path->at += size;
	return true;
}

/* Whether the TNT16 cache may take what follows. */
static bool is_dense(const struct path *path, const struct native_interleaved *slot, uint64_t word)
{
	return native_is_full_tnt(word) && path->at >= slot->refused &&
	       native_is_full_tnt(common_load64(path->at + FORMAT_PT_SIZE_TNT_64));
}

static void settle_sums(struct path *path)
{
	path->instructions += path->sums & (NATIVE_COUNTER_BLOCK - 1);
	path->blocks += path->sums / NATIVE_COUNTER_BLOCK;
	path->branches += path->sums / NATIVE_COUNTER_BLOCK;
	path->sums = 0;
}

/* Whether more packets are to be taken: *until is before the limit, and so near that their sums fit. */
static inline bool goes_on(struct path *path, const uint8_t *limit, const uint8_t **until)
{
	if (__builtin_expect(path->at < *until, 1))
		return true;
	settle_sums(path);
	*until = limit - path->at > SUMMED_BYTES ? path->at + SUMMED_BYTES : limit;
	return path->at < limit;
}

/* Packets up to one that is not for this path; returns how many bits are left of a TNT packet, which are in *bits. */
static unsigned take_packets(struct path *path, const struct native_interleaved *slot, const uint8_t *limit,
			     uint64_t *bits)
{
	const uint8_t *until = path->at;

	while (goes_on(path, limit, &until)) {
		uint64_t word = common_load64(path->at);
		unsigned left;

		if (!(word & 0xff)) {
			path->at += word ? __builtin_ctzll(word) / 8 : 8;
			continue;
		}
		if ((word & 0xff) == FORMAT_PT_EXTENDED) {
			if (!FORMAT_PT_IS(word, TNT_64) || !(word >> 17) || is_dense(path, slot, word))
				return 0;
			*bits = word >> 16;
			path->size = FORMAT_PT_SIZE_TNT_64;
		} else if (word & 1) {
			if (FORMAT_PT_IS(word, TIP) ? take_tip(path, word & 0xff) : take_time(path, word))
				continue;
			return 0;
		} else {
			*bits = (word & 0xff) >> 1;
			path->size = 1;
		}
		left = 63 - (unsigned)__builtin_clzll(*bits);
		while ((left = take_known(path, *bits, left)) && step(path, *bits >> (left - 1) & 1))
			left--;
		if (left)
			return left;
		path->at += path->size;
	}
	return 0;
}

/* ---- the decoder's state ----------------------------------------------------------------------------------- */

/* Adds the region left last to the batch, instead of counting it. */
static void give_last(struct path *path, const struct native_region *first)
{
	struct native_decoder *decoder = path->decoder;
	struct native_counters *counters = &decoder->code->counters;
	const struct native_run *run = &region_of(path, path->last)->run;

	counters->counted[path->last].count[path->last_way]--;
	if (path->last_edge)
		path->last_edge->count--;
	path->instructions -= run->run.instructions;
	path->blocks -= run->run.count;
	path->branches -= run->run.branches;
	if (path->blocks)
		native_output_put_counted(&decoder->out, first);
	native_output_run(&decoder->out, run);
}

static void end(struct path *path, const struct native_region *first)
{
	struct native_decoder *decoder = path->decoder;
	struct native_packet_words *words = &decoder->code->packet_words;
	uint64_t time;

	settle_sums(path);
	native_counters_steps(&decoder->code->counters, (uint32_t)(path->at - decoder->packets.at) * REGIONS_A_BYTE);
	if (words->rest > 0)
		words->rest -= path->at - decoder->packets.at;
	decoder->packets.at = path->at;
	decoder->packets.last_ip = path->last_ip;
	decoder->region = region_of(path, path->here);
	decoder->calls.top = path->top;
	decoder->calls.count = path->depth;
	for (unsigned i = path->top - (path->depth - path->known); i != path->top; i++)
		decoder->calls.sites[i % NATIVE_STACK] = &region_of(path, path->calls[i % NATIVE_STACK])->here;
	flow_clock_settle(&decoder->clock);
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
	path->instructions = path->blocks = path->branches = path->sums = 0;
	path->last = path->last_way = 0;
	path->last_edge = NULL;
}

bool native_count_path(struct native_decoder *decoder, const struct native_interleaved *slot)
{
	const ptrdiff_t bytes = decoder->packets.end - decoder->packets.at - PTL_PT_PACKET_MAX;
	const struct native_region *first = decoder->region;
	struct path path;
	uint64_t bits;
	unsigned left;

	if (!is_ready(decoder))
		return true;
	native_complete_stack(decoder);
	begin(&path, decoder);
	path.here = counter_of(&path, decoder->region);
	if (!path.here)
		return true;
	left = take_packets(&path, slot, path.at + (bytes < BYTES_MAX ? bytes : BYTES_MAX), &bits);
	end(&path, first);
	if (left) {
		native_take_bits(decoder, bits, left);
		decoder->packets.at += path.size;
	}
	return !decoder->failed && !decoder->out.status;
}
