/* SPDX-License-Identifier: BSD-2-Clause */
/* libipt's instruction decoder as an engine: slower, and a cross-check of the block decoder. */
#include "flow/libipt/decoder.h"
#include "flow/libipt/libipt.h"
#include "flow/libipt/newer.h"

static void configure(struct pt_config *config)
{
	LIBIPT_NEWER_CONFIGURE(config->flags.variant.insn);
}

static int step_instruction(struct libipt_engine *engine, uint64_t *address, int *failure)
{
	struct pt_insn insn = {0};
	int status = pt_insn_next(engine->decoder, &insn, sizeof(insn));

	*address = insn.ip;
	/* libipt may return an instruction together with an error about the following instruction. */
	if (insn.iclass != ptic_error && insn.size) {
		*failure = libipt_run(engine, insn.ip, insn.ip, 1, insn.mode, insn.speculative);
		if (!*failure && status == -pte_nomap)
			*address = insn.ip + insn.size;
	}
	return status;
}

LIBIPT_DECODER(insn, .configure = configure, .step = step_instruction)

const struct flow_engine_class flow_engine_libipt_insn = {
	.name = "libipt-insn",
	.description = "libipt's instruction decoder: slower, to check the other",
	.open = open_engine,
	.decode = libipt_decode,
	.takes_parts = true,
	.close = libipt_close,
};
