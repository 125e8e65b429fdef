/* SPDX-License-Identifier: BSD-2-Clause */
/* libipt's instruction decoder as an engine: slower, and a cross check of the other. */
#include "flow/libipt/engine.h"

static void *alloc_decoder(const struct pt_config *config)
{
	return pt_insn_alloc_decoder(config);
}

static void free_decoder(void *decoder)
{
	pt_insn_free_decoder(decoder);
}

static int sync_decoder(void *decoder, uint64_t offset)
{
	return pt_insn_sync_set(decoder, offset);
}

static int set_image(void *decoder, struct pt_image *image)
{
	return pt_insn_set_image(decoder, image);
}

static int next_event(void *decoder, struct pt_event *event)
{
	return pt_insn_event(decoder, event, sizeof(*event));
}

static int current_time(void *decoder, uint64_t *tsc)
{
	return pt_insn_time(decoder, tsc, NULL, NULL);
}

static int current_offset(void *decoder, uint64_t *offset)
{
	return pt_insn_get_offset(decoder, offset);
}

static int step(struct libipt_engine *engine, uint64_t *address, int *failure)
{
	struct pt_insn insn = {0};
	int status = pt_insn_next(engine->decoder, &insn, sizeof(insn));

	*address = insn.ip;
	/* libipt may know the instruction and yet fail, at what follows it. */
	if (insn.iclass != ptic_error && insn.size) {
		*failure = libipt_run(engine, insn.ip, insn.ip, 1, insn.mode, insn.speculative);
		if (!*failure && status == -pte_nomap)
			*address = insn.ip + insn.size;
	}
	return status;
}

static const struct libipt_decoder decoder = {
	.alloc = alloc_decoder,
	.free = free_decoder,
	.sync = sync_decoder,
	.set_image = set_image,
	.event = next_event,
	.time = current_time,
	.offset = current_offset,
	.step = step,
};

static int open_engine(struct flow_code *code, const struct ptl_machine *machine, struct flow_engine **engine)
{
	return libipt_open(&decoder, code, machine, engine);
}

const struct flow_engine_class flow_engine_libipt_insn = {
	.name = "libipt-insn",
	.description = "libipt's instruction decoder: slower, to check the other",
	.open = open_engine,
	.decode = libipt_decode,
	.takes_parts = true,
	.close = libipt_close,
};
