/* SPDX-License-Identifier: BSD-2-Clause */
/* libipt's block decoder as an engine. */
#include "common/error.h"
#include "flow/code/code.h"
#include "flow/libipt/decoder.h"
#include "flow/libipt/libipt.h"
#include "flow/libipt/newer.h"
#include "flow/code/instruction.h"

/*
 * Makes libipt end blocks at jumps and calls, so that instructions of a block have consecutive addresses, as in PTL's
 * blocks. With SKL014, blocks must continue at jumps: libipt would take the end of a block at a jump for the place
 * where packets were disabled.
 */
static void configure(struct pt_config *config)
{
	config->flags.variant.block.end_on_call = !config->errata.skl014;
	config->flags.variant.block.end_on_jump = !config->errata.skl014;
	LIBIPT_NEWER_CONFIGURE(config->flags.variant.block);
}

static unsigned mode_of(const struct pt_block *block)
{
	return block->mode == ptem_64bit ? 64 : block->mode == ptem_32bit ? 32 : 16;
}

/*
 * Gives the run of a block in pieces. A piece ends at a direct jump or call, or at the block's end. Errors as
 * libipt_run.
 */
static int run_pieces(struct libipt_engine *engine, const struct pt_block *block)
{
	uint64_t first = block->ip, at = block->ip;
	uint32_t count = 0;
	int status = 0;

	for (unsigned i = 1; !status && i < block->ninsn; i++) {
		struct flow_instruction instruction = {0};
		uint8_t bytes[FLOW_INSTRUCTION_MAX];
		const size_t size = flow_code_read(engine->code, engine->version.root, at, bytes, sizeof(bytes));

		if (flow_instruction_decode(bytes, size, mode_of(block), at, &instruction) < 0)
			return PTL_CORRUPT;
		count++;
		if (!instruction.direct) {
			at += instruction.length;
			continue;
		}
		status = libipt_run(engine, first, at, count, block->mode, block->speculative);
		first = at = instruction.target;
		count = 0;
	}
	return status ? status : libipt_run(engine, first, block->end_ip, count + 1, block->mode, block->speculative);
}

/*
 * Gives the run of a block. libipt ends blocks at jumps and calls, as configured, except at a jump or call to a
 * PTWRITE: then the PTWRITE is the last instruction of the block.
 */
static int run_block(struct libipt_engine *engine, const struct pt_block *block)
{
	int status;

	if (engine->errata.skl014)
		return run_pieces(engine, block);
	status = libipt_run(engine, block->ip, block->end_ip, block->ninsn, block->mode, block->speculative);
	return status == PTL_CORRUPT && block->ninsn > 1 ? run_pieces(engine, block) : status;
}

static int step_block(struct libipt_engine *engine, uint64_t *address, int *failure)
{
	struct pt_block block = {0};
	int status = pt_blk_next(engine->decoder, &block, sizeof(block));

	*address = block.ip;
	/* Even on an error, libipt may have walked some instructions before. */
	if (block.ninsn) {
		*failure = run_block(engine, &block);
		if (!*failure && status == -pte_nomap)
			*address = engine->builder.open.end;
	}
	return status;
}

LIBIPT_DECODER(blk, .configure = configure, .step = step_block)

const struct flow_engine_class flow_engine_libipt = {
	.name = "libipt",
	.description = "libipt's block decoder: the reference",
	.open = open_engine,
	.decode = libipt_decode,
	.takes_parts = true,
	.close = libipt_close,
};
