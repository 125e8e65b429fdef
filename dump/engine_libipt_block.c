/* SPDX-License-Identifier: BSD-2-Clause */
/* libipt's block decoder as an engine. */
#include "dump/engine_libipt.h"

/* Blocks without jumps and calls within lie at consecutive addresses, as ours do. */
static void configure(struct pt_config *config)
{
	config->flags.variant.block.end_on_call = 1;
	config->flags.variant.block.end_on_jump = 1;
}

static void *alloc_decoder(const struct pt_config *config)
{
	return pt_blk_alloc_decoder(config);
}

static void free_decoder(void *decoder)
{
	pt_blk_free_decoder(decoder);
}

static int sync_decoder(void *decoder, uint64_t offset)
{
	return pt_blk_sync_set(decoder, offset);
}

static int set_image(void *decoder, struct pt_image *image)
{
	return pt_blk_set_image(decoder, image);
}

static int next_event(void *decoder, struct pt_event *event)
{
	return pt_blk_event(decoder, event, sizeof(*event));
}

static int current_time(void *decoder, uint64_t *tsc)
{
	return pt_blk_time(decoder, tsc, NULL, NULL);
}

static int current_offset(void *decoder, uint64_t *offset)
{
	return pt_blk_get_offset(decoder, offset);
}

static int step(struct libipt_engine *engine, uint64_t *address, int *failure)
{
	struct pt_block block = {0};
	int status = pt_blk_next(engine->decoder, &block, sizeof(block));

	*address = block.ip;
	/* Even where it fails, libipt may have walked some instructions before. */
	if (block.ninsn) {
		*failure = libipt_run(engine, block.ip, block.end_ip, block.ninsn, block.mode,
				      block.speculative);
		if (!*failure && status == -pte_nomap)
			*address = engine->builder.open.end;
	}
	return status;
}

static const struct libipt_decoder decoder = {
	.configure = configure,
	.alloc = alloc_decoder,
	.free = free_decoder,
	.sync = sync_decoder,
	.set_image = set_image,
	.event = next_event,
	.time = current_time,
	.offset = current_offset,
	.step = step,
};

static int open_engine(struct ptl_code *code, const struct ptl_machine *machine,
		       struct ptl_engine **engine)
{
	return libipt_open(&decoder, code, machine, engine);
}

const struct ptl_engine_class ptl_engine_libipt = {
	.name = "libipt",
	.description = "libipt's block decoder: the reference",
	.open = open_engine,
	.decode = libipt_decode,
	.close = libipt_close,
};
