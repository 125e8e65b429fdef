/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the branch by which flow left the traced code. */
#include "flow/native/walk_out.h"

#include "flow/native/cache/block.h"
#include "flow/native/gap.h"
#include "flow/native/walk.h"

uint64_t native_resume_ip(const struct flow_block *last, bool has_ip, uint64_t ip)
{
	switch (last->branch) {
	case FLOW_BRANCH_CALL:
	case FLOW_BRANCH_CALL_INDIRECT:
	case FLOW_BRANCH_FAR_CALL:
		return last->ip + last->size;
	default:
		return has_ip ? ip : 0;
	}
}

/* Checks whether the filters are known and exclude ip. */
static bool is_filtered(const struct native_decoder *decoder, uint64_t ip)
{
	const struct native_source *source = &decoder->code->source;

	return source->passes && !source->passes(source->context, ip);
}

/* Adds the first `count` blocks of a region to the batch. Returns false without memory. */
static bool leave_blocks(struct native_decoder *decoder, const struct native_region *region, uint32_t count)
{
	const struct flow_block_run *run = &region->run.run;

	return native_leave_part(decoder, region, count, count < run->count ? run->blocks[count]->ip : 0);
}

/* Checks whether the block's branch may have left the traced code. */
static bool leads_out(const struct native_decoder *decoder, const struct flow_block *block, bool has_ip, uint64_t ip)
{
	switch (block->branch) {
	case FLOW_BRANCH_NONE:
		return false;
	case FLOW_BRANCH_FAR_CALL:
	case FLOW_BRANCH_FAR_RETURN:
	case FLOW_BRANCH_FAR_JUMP:
		return true;
	case FLOW_BRANCH_JUMP:
	case FLOW_BRANCH_CALL:
		return has_ip ? block->target == ip : is_filtered(decoder, block->target);
	case FLOW_BRANCH_CONDITIONAL:
		return has_ip && (block->target == ip || block->ip + block->size == ip);
	default:
		/* A return or an indirect branch: flow cannot continue without a TIP. */
		return true;
	}
}

/* Remembers where flow left the region at its end. Shared regions remember nothing. */
static void note_way_out(struct native_region *region, const struct flow_block *block, bool has_ip, uint64_t ip)
{
	if (region->shared)
		return;
	region->out_known = has_ip;
	region->out_ip = ip;
	region->out_resume = native_resume_ip(block, has_ip, ip);
}

/*
 * Searches the region for the place where packets stopped. Returns 1: found, and the region was left; 0: not in the
 * region; -1: no memory.
 */
static int walk_out_in(struct native_decoder *decoder, struct native_region *region, bool has_ip, uint64_t ip)
{
	for (uint32_t i = 0; i < region->run.run.count; i++) {
		const struct flow_block *block = region->run.run.blocks[i];
		uint32_t paging = has_ip ? 0 : native_block_of(block)->paging;

		if (paging && paging != block->size)
			return native_leave_part(decoder, region, i, block->ip + paging) ? 1 : -1;
		if (!paging && !leads_out(decoder, block, has_ip, ip))
			continue;
		if (i + 1 == region->run.run.count) {
			note_way_out(region, block, has_ip, ip);
		} else if (block->branch && region->run.run.blocks[i + 1]) {
			return native_leave_part(decoder, region, i + 1, region->run.run.blocks[i + 1]->ip) ? 1 : -1;
		}
		native_leave(decoder, region);
		return 1;
	}
	/* Packets were disabled right before missing code. None of the missing code was executed. */
	if (has_ip && region->run.run.count && region->decision > NATIVE_CONTINUE && region->stop_ip == ip) {
		native_leave(decoder, region);
		return 1;
	}
	return 0;
}

/* Result of the search for a branch that left without an address. */
struct direct_branches {
	struct native_region *region; /* region with the first direct branch */
	uint32_t block;               /* index of the block that ends with the branch */
	unsigned count;               /* number of direct branches; 2: two or more */
};

/* Searches the blocks of a region. Returns true if another block may explain the end of flow. */
static bool search_blocks(struct native_region *region, struct direct_branches *found)
{
	for (uint32_t i = 0; i < region->run.run.count; i++) {
		const struct flow_block *block = region->run.run.blocks[i];

		if (native_block_of(block)->paging || block->branch == FLOW_BRANCH_FAR_CALL ||
		    block->branch == FLOW_BRANCH_FAR_RETURN || block->branch == FLOW_BRANCH_FAR_JUMP)
			return true;
		if (block->branch != FLOW_BRANCH_JUMP && block->branch != FLOW_BRANCH_CALL)
			continue;
		if (!found->count) {
			found->region = region;
			found->block = i;
		}
		found->count = found->count ? 2 : 1;
	}
	return false;
}

/*
 * SKL014, with unknown filters: if flow reaches no far transfer, a direct branch left the traced code. Only the code up
 * to the first such branch was certainly executed. *found has no branch if another explanation exists.
 */
static void search_direct(struct native_decoder *decoder, struct direct_branches *found)
{
	struct native_region *region = decoder->region;

	*found = (struct direct_branches){0};
	for (unsigned i = 0; i < NATIVE_LOOP_REGIONS && region; i++) {
		const bool stub = region->stub;

		/* Missing code may have had any branch. */
		if (search_blocks(region, found) || region->decision > NATIVE_CONTINUE) {
			found->count = 0;
			return;
		}
		if (region->decision != NATIVE_CONTINUE) {
			/*
			 * The region's last branch may have left the traced code, unless a CPU with the erratum made
			 * the packets.
			 */
			found->count *= region->decision == NATIVE_CONDITIONAL || decoder->errata.skl014;
			return;
		}
		region = native_region_follow(decoder->code, region, 0);
		i -= stub;
	}
}

/* Walks to the end of the block that search_direct found. If several blocks are possible, adds a gap. */
static bool walk_out_direct(struct native_decoder *decoder, const struct direct_branches *found)
{
	const struct flow_block *block = found->region->run.run.blocks[found->block];

	while (decoder->region && decoder->region != found->region) {
		struct native_region *region = decoder->region;

		native_leave(decoder, region);
		decoder->region = native_region_follow(decoder->code, region, 0);
	}
	if (!decoder->region || !leave_blocks(decoder, found->region, found->block + 1)) {
		decoder->no_memory = decoder->failed = true;
		decoder->region = NULL;
		return false;
	}
	if (found->count == 1)
		return true;
	native_gap(decoder, FLOW_GAP_MISMATCH, block->last_ip);
	return false;
}

bool native_walk_out(struct native_decoder *decoder, bool has_ip, uint64_t ip)
{
	struct direct_branches direct;

	if (!has_ip && decoder->region && decoder->region->decision != NATIVE_FAR && !decoder->code->source.passes) {
		search_direct(decoder, &direct);
		if (direct.count)
			return walk_out_direct(decoder, &direct);
	}
	for (unsigned i = 0; i < NATIVE_LOOP_REGIONS && decoder->region; i++) {
		struct native_region *region = decoder->region;
		const bool stub = region->stub;
		int passed;

		if (has_ip ? region->out_known && region->out_ip == ip
			   : region->decision == NATIVE_FAR && !(region->notable & NATIVE_WRITES_CR3) &&
				     !decoder->code->source.passes) {
			native_leave(decoder, region);
			return true;
		}
		passed = native_pass_region(decoder, region, walk_out_in(decoder, region, has_ip, ip), ip);
		if (passed)
			return passed > 0;
		i -= stub;
	}
	if (decoder->region)
		native_gap(decoder, FLOW_GAP_MISMATCH, ip);
	return false;
}
