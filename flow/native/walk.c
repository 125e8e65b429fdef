/* SPDX-License-Identifier: BSD-2-Clause */
/* Follows the code as packets decide, and adds executed code to the batch. */
#include "flow/native/walk.h"

#include "flow/native/cache/block.h"
#include "flow/native/gap.h"
#include "flow/native/guest_packet.h"
#include "flow/native/return_stack.h"

static void fail_memory(struct native_decoder *decoder)
{
	decoder->no_memory = true;
	decoder->failed = true;
	decoder->region = NULL;
}

static void enter_region(struct native_decoder *decoder, struct native_region *region)
{
	decoder->region = region;
	if (__builtin_expect(!region, 0))
		fail_memory(decoder);
}

void native_go(struct native_decoder *decoder, uint64_t ip)
{
	if (__builtin_expect(decoder->guest.within, 0)) {
		native_guest_skip(decoder);
		return;
	}
	enter_region(decoder, native_region_get(decoder->code, ip, decoder->mode));
}

void native_go_target(struct native_decoder *decoder, uint64_t ip)
{
	if (__builtin_expect(decoder->guest.within, 0)) {
		native_guest_skip(decoder);
		return;
	}
	enter_region(decoder, native_target_get(decoder->code, ip, decoder->mode));
}

/* Handles a region whose code ends although packets follow. */
static void dead_end(struct native_decoder *decoder, const struct native_region *region)
{
	bool missing = region->decision == NATIVE_NO_CODE;

	native_leave(decoder, region);
	native_gap(decoder, missing ? FLOW_GAP_CODE : FLOW_GAP_MISMATCH, region->stop_ip);
}

/*
 * Leaves regions that need no packet. Returns NULL after a gap. Stubs are not counted, because the flow must not depend
 * on invalidations.
 */
static struct native_region *settle_region(struct native_decoder *decoder)
{
	for (unsigned i = 0; decoder->region; i++) {
		struct native_region *region = decoder->region;

		if (region->decision < NATIVE_CONTINUE)
			return region;
		if (region->decision > NATIVE_CONTINUE) {
			dead_end(decoder, region);
		} else if (i == NATIVE_LOOP_REGIONS) {
			native_gap(decoder, FLOW_GAP_MISMATCH, region->here.ip);
		} else {
			i -= region->stub;
			native_leave(decoder, region);
			enter_region(decoder, native_region_follow(decoder->code, region, 0));
		}
	}
	return NULL;
}

bool native_pass_far(struct native_decoder *decoder)
{
	struct native_region *region = decoder->region;

	for (unsigned i = 0; region && i < NATIVE_LOOP_REGIONS && region->decision == NATIVE_CONTINUE; i++)
		region = native_region_follow(decoder->code, region, 0);
	if (!region || region->decision != NATIVE_FAR)
		return false;
	region = settle_region(decoder);
	if (region)
		native_leave(decoder, region);
	return region;
}

/* Handles a packet that does not fit the branch at the region's end. The branch was executed anyway. */
static void mismatch(struct native_decoder *decoder, const struct native_region *region)
{
	const struct flow_block_run *run = &region->run.run;
	/* The region has no blocks if the code was changed while TNT bits waited for a TIP. */
	const uint64_t from = run->count ? run->blocks[run->count - 1]->last_ip : region->here.ip;

	native_leave(decoder, region);
	native_gap(decoder, FLOW_GAP_MISMATCH, from);
}

/*
 * Handles a TNT bit for a compressed return: the return goes to the newest call that has not returned. Without such a
 * call, the call was in a gap, or the packets do not fit.
 */
static void take_return(struct native_decoder *decoder, struct native_region *region, unsigned taken)
{
	uint64_t from = region->run.run.blocks[region->run.run.count - 1]->last_ip;

	native_leave(decoder, region);
	native_update_stack(decoder);
	decoder->calls.returning = false;
	if (taken && !decoder->calls.count && decoder->calls.before)
		native_return_stack_restore(decoder);
	if (taken && !decoder->calls.count && decoder->gap.cause) {
		native_gap(decoder, decoder->gap.cause, decoder->gap.from);
		return;
	}
	if (!taken || !decoder->calls.count) {
		native_gap(decoder, FLOW_GAP_MISMATCH, from);
		return;
	}
	decoder->calls.count--;
	enter_region(decoder,
		     native_return_site_follow(decoder->code, decoder->calls.sites[--decoder->calls.top % NATIVE_STACK],
					       decoder->mode));
}

/* Follows one bit without the cache. Returns false if a TIP decides here, not a bit. */
static bool take_bit(struct native_decoder *decoder, unsigned taken)
{
	struct native_region *region = settle_region(decoder);

	if (!region)
		return true;
	if (region->decision == NATIVE_CONDITIONAL) {
		native_leave(decoder, region);
		enter_region(decoder, native_region_follow(decoder->code, region, taken));
	} else if (region->decision == NATIVE_RETURN) {
		take_return(decoder, region, taken);
	} else {
		return false;
	}
	return true;
}

/*
 * Keeps bits until the TIP of the branch before the bits comes. A CPU may fill a TNT packet before sending TIPs that
 * belong into the middle of the packet (SDM, "Deferred TIPs").
 */
static void hold_bits(struct native_decoder *decoder, uint64_t bits, unsigned count)
{
	decoder->held.bits = bits;
	decoder->held.count = (uint8_t)count;
	decoder->holding = true;
}

void native_drop_held(struct native_decoder *decoder, bool gap)
{
	struct native_region *region = decoder->region;

	decoder->holding = false;
	if (region && region->stub) {
		region = native_region_follow(decoder->code, region, 0);
		enter_region(decoder, region);
	}
	if (!region)
		return;
	if (gap) {
		mismatch(decoder, region);
	} else {
		native_leave(decoder, region);
		decoder->region = NULL;
	}
}

/*
 * Clears the TNT cache. All decoders of the code flush their batches first, because the batches point to the cache's
 * runs.
 */
static void clear_tnt_cache(struct native_decoder *decoder)
{
	struct native_decoder *each = decoder;

	do {
		native_output_flush(&each->out);
		each = each->others;
	} while (each != decoder);
	native_tnt_cache_clear(&decoder->code->tnt_cache);
	decoder->code->generation++;
}

/* Makes the entry of the key in the current region. Returns NULL without memory. */
static const struct native_tnt_entry *find_run(struct native_decoder *decoder, uint32_t key)
{
	const struct native_tnt_entry *entry;

	if (native_tnt_cache_full(&decoder->code->tnt_cache))
		clear_tnt_cache(decoder);
	entry = native_tnt_cache_add(decoder->code, decoder->region, key);
	if (!entry)
		fail_memory(decoder);
	return entry;
}

/*
 * Follows bits while the cache has whole entries. Returns the number of remaining bits. A step needs only `to` of the
 * previous entry: the CPU can execute all other work earlier or later.
 */
static unsigned take_known_bits(struct native_decoder *decoder, uint64_t bits, unsigned count)
{
	const struct native_tnt_entry *table = decoder->code->tnt_cache.entries;
	struct native_output *out = &decoder->out;
	uint64_t to = native_to(decoder->region);
	size_t room = out->run_count < out->run_limit ? out->run_limit - out->run_count : 0;
	const struct flow_block_run **runs = out->runs + out->run_count;
	uint64_t instructions = 0, blocks = 0, branches = 0;
	size_t steps = 0;

	while (count >= NATIVE_TNT_BITS && steps < room) {
		uint32_t key = 1u << NATIVE_TNT_BITS |
			       ((uint32_t)(bits >> (count - NATIVE_TNT_BITS)) & ((1u << NATIVE_TNT_BITS) - 1));
		const struct native_tnt_entry *entry = &table[(uint32_t)(to >> 48) ^ key];

		if (!native_tnt_entry_is_whole(entry, to))
			break;
		runs[steps++] = &native_tnt_entry_run(entry)->run;
		instructions += entry->instructions;
		blocks += entry->blocks;
		branches += entry->branches;
		to = entry->to;
		count -= NATIVE_TNT_BITS;
	}
	out->run_count += steps;
	out->instructions += instructions;
	out->block_count += blocks;
	out->branches += branches;
	decoder->region = native_to_region(to);
	return count;
}

void native_take_bits(struct native_decoder *decoder, uint64_t bits, unsigned count)
{
	while (count && decoder->region) {
		const struct native_tnt_entry *entry;
		unsigned part;
		uint32_t key;

		if (count >= NATIVE_TNT_BITS)
			count = take_known_bits(decoder, bits, count);
		if (!count)
			break;
		/* Mostly a return to a call before these bits: the return's target is not in the cache. */
		if (decoder->region->decision != NATIVE_CONDITIONAL) {
			if (!take_bit(decoder, bits >> (count - 1) & 1)) {
				hold_bits(decoder, bits, count);
				return;
			}
			count--;
			continue;
		}
		part = count < NATIVE_TNT_BITS ? count : NATIVE_TNT_BITS;
		key = 1u << part | ((uint32_t)(bits >> (count - part)) & ((1u << part) - 1));
		entry = native_tnt_cache_slot(&decoder->code->tnt_cache, decoder->region, key);
		if (!native_tnt_entry_is(entry, decoder->region))
			entry = find_run(decoder, key);
		if (!entry)
			return;
		/* The region is too long for an entry. */
		if (!native_tnt_entry_used(entry)) {
			count--;
			take_bit(decoder, bits >> count & 1);
			continue;
		}
		native_output_counted(&decoder->out, native_tnt_entry_run(entry), entry->instructions, entry->blocks,
				      entry->branches);
		count -= native_tnt_entry_used(entry);
		decoder->region = native_to_region(entry->to);
	}
}

void native_take_target_slowly(struct native_decoder *decoder, uint64_t ip)
{
	struct native_region *region = settle_region(decoder);

	if (!region)
		return;
	if (region->decision == NATIVE_CONDITIONAL) {
		mismatch(decoder, region);
		return;
	}
	native_leave(decoder, region);
	enter_region(decoder, native_target_get(decoder->code, ip, decoder->mode));
}

/* Adds one block to the batch. Returns false without memory. */
static bool leave_block(struct native_decoder *decoder, const struct flow_block *block)
{
	const struct native_run *run = native_block_alone(decoder->code, block);

	if (run)
		native_output_run(&decoder->out, run);
	return run;
}

bool native_leave_part(struct native_decoder *decoder, const struct native_region *region, uint32_t count, uint64_t ip)
{
	const struct flow_block *part;

	const struct flow_block *const *blocks = region->run.run.blocks;

	if (count == region->run.run.count) {
		native_leave(decoder, region);
		return true;
	}
	for (uint32_t i = 0; i < count; i++)
		if (!leave_block(decoder, blocks[i]))
			return false;
	if (blocks[count]->ip == ip)
		return true;
	part = native_block_part(decoder->code, blocks[count], blocks[count]->ip, ip);
	return part && leave_block(decoder, part);
}

static bool starts_instruction(const struct flow_block *block, uint64_t ip)
{
	uint64_t at = block->ip;

	if (ip - block->ip >= block->size)
		return false;
	for (uint32_t i = 0; i < block->instructions && at < ip; i++)
		at += block->lengths[i];
	return at == ip;
}

/*
 * Looks for ip in the region. Returns 1: found, and the region was left before ip; 0: not in the region; -1: no memory.
 */
static int walk_in(struct native_decoder *decoder, const struct native_region *region, uint64_t ip)
{
	for (uint32_t i = 0; i < region->run.run.count; i++)
		if (starts_instruction(region->run.run.blocks[i], ip))
			return native_leave_part(decoder, region, i, ip) ? 1 : -1;
	/* Missing code does not matter if the missing code was not executed. */
	if (region->decision > NATIVE_CONTINUE && region->stop_ip == ip)
		return native_leave_part(decoder, region, region->run.run.count, ip) ? 1 : -1;
	return 0;
}

int native_pass_region(struct native_decoder *decoder, struct native_region *region, int found, uint64_t ip)
{
	if (found > 0)
		return 1;
	if (found < 0) {
		fail_memory(decoder);
	} else if (region->decision > NATIVE_CONTINUE) {
		dead_end(decoder, region);
	} else if (region->decision < NATIVE_CONTINUE) {
		native_gap(decoder, FLOW_GAP_MISMATCH, ip);
	} else {
		native_leave(decoder, region);
		enter_region(decoder, native_region_follow(decoder->code, region, 0));
		return 0;
	}
	return -1;
}

bool native_walk_to(struct native_decoder *decoder, uint64_t ip)
{
	for (unsigned i = 0; i < NATIVE_LOOP_REGIONS && decoder->region; i++) {
		struct native_region *region = decoder->region;
		const bool stub = region->stub;
		int passed = native_pass_region(decoder, region, walk_in(decoder, region, ip), ip);

		if (passed)
			return passed > 0;
		i -= stub;
	}
	if (decoder->region)
		native_gap(decoder, FLOW_GAP_MISMATCH, ip);
	return false;
}

/* Returns 1 if the instruction at ip ends the region, and leaves the region; 0: another instruction ends the region. */
static int walk_through_in(struct native_decoder *decoder, const struct native_region *region, uint64_t ip)
{
	const struct flow_block_run *run = &region->run.run;

	if (!run->count || run->blocks[run->count - 1]->last_ip != ip)
		return 0;
	native_leave(decoder, region);
	return 1;
}

bool native_walk_through(struct native_decoder *decoder, uint64_t ip)
{
	for (unsigned i = 0; i < NATIVE_LOOP_REGIONS && decoder->region; i++) {
		struct native_region *region = decoder->region;
		const bool stub = region->stub;
		int passed = native_pass_region(decoder, region, walk_through_in(decoder, region, ip), ip);

		if (passed)
			return passed > 0;
		i -= stub;
	}
	if (decoder->region)
		native_gap(decoder, FLOW_GAP_MISMATCH, ip);
	return false;
}

static bool region_holds(const struct native_region *region, uint64_t ip)
{
	for (uint32_t i = 0; i < region->run.run.count; i++)
		if (starts_instruction(region->run.run.blocks[i], ip))
			return true;
	return region->decision > NATIVE_CONTINUE && region->stop_ip == ip;
}

bool native_reaches(struct native_decoder *decoder, uint64_t ip)
{
	struct native_region *region = decoder->region;

	for (unsigned i = 0; i < NATIVE_LOOP_REGIONS && region; i++) {
		if (region_holds(region, ip))
			return true;
		if (region->decision != NATIVE_CONTINUE)
			return false;
		region = native_region_follow(decoder->code, region, 0);
	}
	return false;
}

uint64_t native_branch_before(struct native_decoder *decoder, uint64_t end)
{
	struct native_region *region = decoder->region;
	const struct flow_block *last;

	for (unsigned i = 0; region && i < NATIVE_LOOP_REGIONS && region->decision == NATIVE_CONTINUE; i++)
		region = native_region_follow(decoder->code, region, 0);
	if (!region || region->decision == NATIVE_CONDITIONAL || region->decision >= NATIVE_CONTINUE ||
	    !region->run.run.count)
		return 0;
	last = region->run.run.blocks[region->run.run.count - 1];
	return last->ip + last->size == end ? last->last_ip : 0;
}
