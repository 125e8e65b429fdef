/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the instruction to which a packet without address refers. */
#include "flow/native/find_instruction.h"

#include "flow/code/instruction.h"
#include "flow/native/cache/block.h"
#include "flow/native/gap.h"
#include "flow/native/walk.h"

typedef bool is_function(const struct flow_instruction *instruction, const uint8_t *code);

static bool is_ptwrite(const struct flow_instruction *instruction, const uint8_t *code)
{
	(void)code;
	return instruction->ptwrite;
}

static bool writes_cr3(const struct flow_instruction *instruction, const uint8_t *code)
{
	(void)code;
	return instruction->writes_cr3;
}

static bool sets_vmcs(const struct flow_instruction *instruction, const uint8_t *code)
{
	/* VMCLEAR is VMPTRLD with a prefix, and is excluded. */
	return instruction->sets_vmcs && code[0] != 0x66;
}

/* Finds the block's first instruction of the kind that `is` checks. */
static bool find_in_block(const struct flow_block *block, is_function *is, uint64_t *ip, uint64_t *next)
{
	const uint8_t *code = block->code;
	uint64_t at = block->ip;

	for (uint32_t k = 0; k < block->instructions; k++) {
		struct flow_instruction instruction;

		if (flow_instruction_decode(code, block->lengths[k], block->mode, at, &instruction) == 0 &&
		    is(&instruction, code)) {
			*ip = at;
			*next = at + block->lengths[k];
			return true;
		}
		code += block->lengths[k];
		at += block->lengths[k];
	}
	return false;
}

static is_function *function_of(unsigned notable)
{
	switch (notable) {
	case NATIVE_PTWRITE:
		return is_ptwrite;
	case NATIVE_WRITES_CR3:
		return writes_cr3;
	default:
		return sets_vmcs;
	}
}

bool native_find_instruction(const struct native_decoder *decoder, unsigned notable, uint64_t *ip, uint64_t *next)
{
	struct native_region *region = decoder->region;

	for (unsigned i = 0; region && i < NATIVE_LOOP_REGIONS; i++) {
		for (uint32_t k = 0; k < region->run.run.count && region->notable & notable; k++)
			if (native_block_of(region->run.run.blocks[k])->notable & notable &&
			    find_in_block(region->run.run.blocks[k], function_of(notable), ip, next))
				return true;
		if (region->decision != NATIVE_CONTINUE)
			return false;
		region = native_region_follow(decoder->code, region, 0);
	}
	return false;
}

/*
 * Finds instruction number *count in the region. Returns false if the region is shorter: then *count is reduced by the
 * region's instructions.
 */
static bool find_counted(const struct native_region *region, uint64_t *count, uint64_t *ip)
{
	for (uint32_t k = 0; k < region->run.run.count; k++) {
		const struct flow_block *block = region->run.run.blocks[k];

		if (*count < block->instructions) {
			*ip = block->ip;
			for (uint32_t i = 0; i < *count; i++)
				*ip += block->lengths[i];
			return true;
		}
		*count -= block->instructions;
	}
	*ip = region->stop_ip;
	return !*count && region->decision > NATIVE_CONTINUE;
}

/* Checks whether instructions are counted anew from this packet. */
static bool is_anchor(uint8_t kind)
{
	switch (kind) {
	case PTL_PT_TNT_8:
	case PTL_PT_TNT_64:
	case PTL_PT_TIP:
	case PTL_PT_TIP_PGE:
	case PTL_PT_TIP_PGD:
	case PTL_PT_FUP:
	case PTL_PT_OVF:
		return true;
	default:
		return false;
	}
}

/*
 * Returns the number of instructions since the last anchor that flow has already passed, because of packets after the
 * anchor.
 */
static uint64_t counted(const struct native_decoder *decoder)
{
	struct ptl_pt_context context = {0};
	const uint8_t *at = decoder->since_anchor.end;

	while (at && at < decoder->packets.at) {
		struct ptl_pt_packet packet;
		const int size = native_read(decoder, at, &context, &packet);

		if (size <= 0 || is_anchor(packet.kind))
			return 0;
		at += size;
	}
	return at ? decoder->since_anchor.instructions : 0;
}

bool native_find_counted(const struct native_decoder *decoder, uint64_t count, uint64_t *ip)
{
	struct native_region *region = decoder->region;
	const uint64_t passed = counted(decoder);

	if (count < passed)
		return false;
	count -= passed;
	for (unsigned i = 0; region && i < NATIVE_LOOP_REGIONS; i++) {
		if (find_counted(region, &count, ip))
			return true;
		if (region->decision != NATIVE_CONTINUE)
			return false;
		region = native_region_follow(decoder->code, region, 0);
	}
	return false;
}

/* Adds the region's instructions before ip to *count. Returns false if ip is not in the region. */
static bool count_before(const struct native_region *region, uint64_t ip, uint64_t *count)
{
	for (uint32_t k = 0; k < region->run.run.count; k++) {
		const struct flow_block *block = region->run.run.blocks[k];
		uint64_t at = block->ip;

		for (uint32_t i = 0; i < block->instructions && at != ip; i++, ++*count)
			at += block->lengths[i];
		/* The end of a block is the beginning of the next block, unless a branch led elsewhere. */
		if (at == ip && (!block->branch || ip != block->ip + block->size))
			return true;
	}
	return false;
}

void native_count_to(struct native_decoder *decoder, unsigned size, uint64_t ip)
{
	struct native_region *region = decoder->region;
	uint64_t count = counted(decoder);

	decoder->since_anchor.end = NULL;
	for (unsigned i = 0; region && i < NATIVE_LOOP_REGIONS; i++) {
		if (count_before(region, ip, &count)) {
			decoder->since_anchor.instructions = count;
			decoder->since_anchor.end = decoder->packets.at + size;
			return;
		}
		if (region->decision != NATIVE_CONTINUE)
			return;
		region = native_region_follow(decoder->code, region, 0);
	}
}
