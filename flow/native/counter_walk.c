/* SPDX-License-Identifier: BSD-2-Clause */
#include "flow/native/counter_walk.h"

#include "flow/native/fast_path.h"

/* ---- begin and end ----------------------------------------------------------------------------------------- */

/* Checks whether counters may handle the packet; otherwise preparing the walk is wasted work. */
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

bool native_counter_walk_is_ready(const struct native_decoder *decoder)
{
	const struct native_region *region = decoder->region;

	return region && region->run.run.count && region->mode == decoder->mode &&
	       native_fast_path_may_begin(decoder) && decoder->packets.end - decoder->packets.at > PTL_PT_PACKET_MAX &&
	       is_frequent(common_load64(decoder->packets.at));
}

bool native_counter_walk_begin(struct native_counter_walk *walk, struct native_decoder *decoder)
{
	walk->decoder = decoder;
	walk->at = decoder->packets.at;
	walk->last_ip = decoder->packets.last_ip;
	walk->top = decoder->calls.top;
	walk->depth = walk->known = decoder->calls.count;
	walk->here = native_counter_walk_number(walk, decoder->region);
	return walk->here != 0;
}

void native_counter_walk_end(const struct native_counter_walk *walk)
{
	struct native_decoder *decoder = walk->decoder;

	decoder->packets.at = walk->at;
	decoder->packets.last_ip = walk->last_ip;
	decoder->region = native_counter_walk_counted(walk, walk->here)->region;
	decoder->calls.top = walk->top;
	decoder->calls.count = walk->depth;
	for (unsigned i = walk->top - (walk->depth - walk->known); i != walk->top; i++) {
		const uint32_t call = walk->calls[i % NATIVE_STACK];

		decoder->calls.sites[i % NATIVE_STACK] = &native_counter_walk_counted(walk, call)->region->here;
	}
}

/* ---- regions ----------------------------------------------------------------------------------------------- */

uint32_t native_counter_walk_number(struct native_counter_walk *walk, struct native_region *region)
{
	const uint32_t number = region ? native_counter_of(walk->decoder->code, region) : 0;

	walk->table = walk->decoder->code->counters.table;
	return number;
}

bool native_counter_walk_calls(struct native_counter_walk *walk, const struct native_region *region)
{
	const struct native_run *run = &region->run;
	struct native_code *code = walk->decoder->code;

	for (uint32_t i = 0; i < run->push_count; i++)
		if (!native_counter_walk_number(walk, native_return_site_follow(code, run->pushes[i], region->mode)))
			return false;
	for (uint32_t i = 0; i < run->push_count; i++)
		native_counter_walk_push(walk, run->pushes[i]->region->counter);
	return true;
}

/* Returns the counter's region. A region whose code has changed is made again. NULL without memory. */
static struct native_region *refresh(struct native_counter_walk *walk, uint32_t *number)
{
	struct native_region *region = native_counter_walk_counted(walk, *number)->region;

	if (region->stub)
		region = native_region_follow(walk->decoder->code, region, 0);
	*number = native_counter_walk_number(walk, region);
	return *number ? region : NULL;
}

struct native_region *native_counter_walk_decision(struct native_counter_walk *walk, struct native_passed *passed)
{
	uint32_t number = walk->here, count = 0;
	struct native_region *region = refresh(walk, &number);

	passed->count = 0;
	while (region && region->decision == NATIVE_CONTINUE) {
		if (count == NATIVE_PASSED_MAX)
			return NULL;
		passed->numbers[count++] = number;
		number = native_counter_walk_number(walk, native_region_follow(walk->decoder->code, region, 0));
		region = number ? refresh(walk, &number) : NULL;
	}
	if (!region)
		return NULL;
	passed->count = count;
	passed->here = number;
	return region;
}

/* ---- TNT bits ---------------------------------------------------------------------------------------------- */

/* Returns the counter at a compressed return's target; 0: the call is unknown. */
static uint32_t return_target(struct native_counter_walk *walk, const struct native_region *region)
{
	const struct native_run *run = &region->run;
	const unsigned newest = (walk->top - 1) % NATIVE_STACK;
	struct native_return_site *return_site;

	if (run->push_count)
		return_site = run->pushes[run->push_count - 1];
	else if (walk->depth > walk->known)
		return walk->calls[newest];
	else if (walk->depth)
		return_site = walk->decoder->calls.sites[newest];
	else
		return 0;
	return native_counter_walk_number(walk,
					  native_return_site_follow(walk->decoder->code, return_site, region->mode));
}

uint32_t native_counter_walk_target(struct native_counter_walk *walk, struct native_region *region, unsigned taken)
{
	if (region->decision == NATIVE_CONDITIONAL)
		return native_counter_walk_number(walk, native_region_follow(walk->decoder->code, region, taken));
	return region->decision == NATIVE_RETURN && taken ? return_target(walk, region) : 0;
}

void native_counter_walk_go(struct native_counter_walk *walk, const struct native_region *region, unsigned taken,
			    uint32_t to)
{
	if (region->decision == NATIVE_RETURN)
		native_counter_walk_pop(walk);
	else if (native_counter_walk_here(walk)->plain)
		native_counter_walk_here(walk)->next[taken] = to;
	walk->here = to;
}
