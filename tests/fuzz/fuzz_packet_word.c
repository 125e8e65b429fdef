/* SPDX-License-Identifier: BSD-2-Clause */
/* Fuzzes PT and code: the engine's flow by cached packet words must equal the flow packet by packet. */
#include <stdlib.h>

#include "common/bytes.h"
#include "tests/unit/packet_word_flow.h"

/* The input: a byte of flags, 16 bits size of the code, the code, then PT. */
#define FLAG_32_BIT 0x01

#define BASE 0x400000ull
#define ROUNDS 4

struct input {
	const uint8_t *code;
	size_t code_size;
};

static void find_code(void *context, uint64_t ip, struct flow_code_range *range)
{
	const struct input *input = context;
	const uint64_t end = BASE + input->code_size;

	if (ip >= BASE && ip < end)
		*range = (struct flow_code_range){BASE, end - 1, input->code, 0, false};
	else if (ip < BASE)
		*range = (struct flow_code_range){0, BASE - 1, NULL, FLOW_NONE, false};
	else
		*range = (struct flow_code_range){end, UINT64_MAX, NULL, FLOW_NONE, false};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct common_cursor cursor = common_cursor(data, size);
	const uint8_t flags = common_read8(&cursor);
	struct input input = {.code_size = common_read16(&cursor)};
	uint32_t known;
	uint8_t *pt;

	input.code = common_read_bytes(&cursor, input.code_size);
	size = common_cursor_left(&cursor);
	if (cursor.failed || !input.code_size || !size)
		return 0;
	pt = calloc(1, size + FLOW_ENGINE_ROOM);
	if (!pt)
		return 0;
	memcpy(pt, common_read_bytes(&cursor, size), size);
	if (!word_flows_equal((struct native_source){find_code, &input}, flags & FLAG_32_BIT ? 32 : 64, pt, size,
			      ROUNDS, &known))
		abort();
	free(pt);
	return 0;
}
