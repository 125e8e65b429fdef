/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes PT and code for decoders of ptl/decoder.h: one piece, pieces and a warm decoder give equal sums; flushes, changes
 * of code, switches of spaces, losses, resets and forks between pieces are safe.
 */
#include <ptl/decoder.h>

#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"

/* The input: a byte of flags, a byte for the size of pieces, 16 bits size of the code, the code, then PT. */
#define FLAG_32_BIT 0x01
#define FLAG_READ 0x02   /* a function reads the code */
#define FLAG_SMALL 0x04  /* little memory, and short segments */
#define FLAG_SPACES 0x08 /* a function reads the code of address spaces */

#define BASE 0x400000ull

struct input {
	const uint8_t *code;
	size_t code_size;
	const uint8_t *pt;
	size_t pt_size;
	size_t piece;
	unsigned flags;
};

static uint8_t bitmap[256];

static bool read_code(void *context, uint64_t address, void *bytes, size_t size)
{
	const struct input *input = context;
	uint8_t *to = bytes;

	if (!size || size > 4096 || address >> 12 != (address + size - 1) >> 12)
		abort();
	if (address < BASE || address >= BASE + input->code_size)
		return false;
	for (size_t i = 0; i < size; i++)
		to[i] = address + i - BASE < input->code_size ? input->code[address + i - BASE] : 0;
	return true;
}

/* Each space has the code of the space before, a byte later. */
static bool read_space(void *context, uint64_t space, uint64_t address, void *bytes, size_t size)
{
	const struct input *input = context;
	uint8_t *to = bytes;

	if (!read_code(context, address, bytes, size))
		return false;
	for (size_t i = 0; i < size; i++)
		to[i] = address + i - BASE + space < input->code_size ? input->code[address + i - BASE + space] : 0;
	return true;
}

static struct ptl_decoder *open_decoder(struct input *input)
{
	const struct ptl_machine machine = {.mode = input->flags & FLAG_32_BIT ? 32 : 64, .return_compression = true};
	const struct ptl_flow_memory memory = {BASE, input->code, input->code_size, NULL};
	struct ptl_decoder_options options = {
		.size = sizeof(options),
		.machine = &machine,
		.outputs = PTL_DECODER_EDGES | PTL_DECODER_FUNCTIONS | PTL_DECODER_HASH | PTL_DECODER_SPACES,
		.bitmap = bitmap,
		.bitmap_size = sizeof(bitmap),
	};
	struct ptl_decoder *decoder;

	if (input->flags & FLAG_SPACES) {
		options.read_space = read_space;
		options.read_context = input;
	} else if (input->flags & FLAG_READ) {
		options.read = read_code;
		options.read_context = input;
	} else {
		options.memory = &memory;
		options.memory_count = 1;
	}
	if (input->flags & FLAG_SMALL) {
		options.memory_limit = 1 << 16;
		options.segment_limit = 100;
	}
	return ptl_decoder_new(&options, &decoder) ? NULL : decoder;
}

static void check(int status)
{
	if (status && status != PTL_NO_MEMORY)
		abort();
}

static void compare(const struct ptl_decoder_sums *one, const struct ptl_decoder_sums *other)
{
	if (memcmp(one, other, offsetof(struct ptl_decoder_sums, first_edge)))
		abort();
}

/* All calls that may come between pieces. */
static void disturb(struct ptl_decoder *decoder, const struct input *input, unsigned what)
{
	const struct ptl_flow_memory memory = {BASE + what, input->code, input->code_size, NULL};
	const struct ptl_decoder_options options = {.size = sizeof(options), .outputs = PTL_DECODER_EDGES};
	struct ptl_decoder *fork;

	switch (what % 16) {
	case 0:
		check(ptl_decoder_change(decoder, BASE + what, 20));
		break;
	case 1:
		check(ptl_decoder_code(decoder, &memory));
		break;
	case 2:
		check(ptl_decoder_lost(decoder, what));
		break;
	case 3:
		check(ptl_decoder_fork(decoder, &options, &fork));
		if (!fork)
			break;
		check(ptl_decoder_run(fork, input->pt, input->pt_size, NULL));
		ptl_decoder_free(fork);
		break;
	case 4:
		ptl_decoder_reset(decoder);
		break;
	case 5:
		if (input->flags & FLAG_SPACES)
			check(ptl_decoder_switch(decoder, what % 3));
		break;
	default:
		check(ptl_decoder_flush(decoder));
	}
}

static void feed_pieces(struct ptl_decoder *decoder, const struct input *input, bool disturbed)
{
	for (size_t at = 0; at < input->pt_size; at += input->piece) {
		const size_t left = input->pt_size - at;

		check(ptl_decoder_feed(decoder, input->pt + at, left < input->piece ? left : input->piece));
		if (disturbed)
			disturb(decoder, input, input->pt[at]);
	}
}

static void run_decoder(struct ptl_decoder *decoder, const struct input *input)
{
	struct ptl_decoder_sums whole, pieces;

	check(ptl_decoder_run(decoder, input->pt, input->pt_size, &whole));
	for (unsigned round = 0; round < 2; round++) {
		feed_pieces(decoder, input, false);
		check(ptl_decoder_end(decoder, &pieces));
		compare(&whole, &pieces);
	}
	feed_pieces(decoder, input, true);
	check(ptl_decoder_end(decoder, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct common_cursor cursor = common_cursor(data, size);
	struct input input = {.flags = common_read8(&cursor), .piece = common_read8(&cursor) + 1u};
	struct ptl_decoder *decoder;
	uint8_t *pt;

	input.code_size = common_read16(&cursor);
	input.code = common_read_bytes(&cursor, input.code_size);
	input.pt_size = common_cursor_left(&cursor);
	if (cursor.failed || !input.code_size || !input.pt_size)
		return 0;
	/* No byte follows the packets: reading past the end is an error. */
	pt = malloc(input.pt_size);
	if (!pt)
		return 0;
	input.pt = memcpy(pt, common_read_bytes(&cursor, input.pt_size), input.pt_size);
	decoder = open_decoder(&input);
	if (decoder)
		run_decoder(decoder, &input);
	ptl_decoder_free(decoder);
	free(pt);
	return 0;
}
