/* SPDX-License-Identifier: BSD-2-Clause */
/* libipt's block decoder as an engine. */
#include "common/error.h"
#include "flow/code/code.h"
#include "flow/libipt/decoder.h"
#include "flow/code/instruction.h"

/* Blocks without jumps and calls within lie at consecutive addresses, as ours do. */
static void configure(struct pt_config *config)
{
	config->flags.variant.block.end_on_call = 1;
	config->flags.variant.block.end_on_jump = 1;
}

static unsigned mode_of(const struct pt_block *block)
{
	return block->mode == ptem_64bit ? 64 : block->mode == ptem_32bit ? 32 : 16;
}

/* The block's last instruction but one, if it is a direct jump or call to the last one; false: it is not. */
static bool find_branch_before_end(struct libipt_engine *engine, const struct pt_block *block, uint64_t *branch)
{
	struct flow_instruction instruction = {0};
	uint64_t at = block->ip;

	for (unsigned i = 1; i < block->ninsn; i++) {
		uint8_t bytes[FLOW_INSTRUCTION_MAX];
		size_t size = flow_code_read(engine->code, engine->version.root, at, bytes, sizeof(bytes));

		if (flow_instruction_decode(bytes, size, mode_of(block), at, &instruction) < 0)
			return false;
		*branch = at;
		at += instruction.length;
	}
	return instruction.direct && instruction.target == block->end_ip;
}

/*
 * libipt ends blocks at jumps and calls, as asked, but not where a PTWRITE is what they lead to: that is the last
 * instruction of the same block then.
 */
static int run_block(struct libipt_engine *engine, const struct pt_block *block)
{
	uint64_t branch;
	int status = libipt_run(engine, block->ip, block->end_ip, block->ninsn, block->mode, block->speculative);

	if (status != PTL_CORRUPT || block->ninsn < 2 || !find_branch_before_end(engine, block, &branch))
		return status;
	status = libipt_run(engine, block->ip, branch, block->ninsn - 1u, block->mode, block->speculative);
	if (!status)
		status = libipt_run(engine, block->end_ip, block->end_ip, 1, block->mode, block->speculative);
	return status;
}

static int step(struct libipt_engine *engine, uint64_t *address, int *failure)
{
	struct pt_block block = {0};
	int status = pt_blk_next(engine->decoder, &block, sizeof(block));

	*address = block.ip;
	/* Even where it fails, libipt may have walked some instructions before. */
	if (block.ninsn) {
		*failure = run_block(engine, &block);
		if (!*failure && status == -pte_nomap)
			*address = engine->builder.open.end;
	}
	return status;
}

LIBIPT_DECODER(blk, .configure = configure, .step = step)

const struct flow_engine_class flow_engine_libipt = {
	.name = "libipt",
	.description = "libipt's block decoder: the reference",
	.open = open_engine,
	.decode = libipt_decode,
	.takes_parts = true,
	.close = libipt_close,
};
