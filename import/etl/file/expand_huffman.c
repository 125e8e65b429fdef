/* SPDX-License-Identifier: BSD-2-Clause */
/* Decompresses Xpress with Huffman codes: [MS-XCA] 2.1 and 2.2. */
#include "import/etl/file/expand.h"

#include "common/bytes.h"
#include "common/error.h"
#include "import/etl/file/expand_copy.h"

#define SYMBOLS 512u
#define LENGTHS (SYMBOLS / 2) /* bytes of the table; two code lengths per byte */
#define CODE_MAX 15u
#define BLOCK 65536u /* output bytes per table */
#define END 256u     /* symbol that ends the output at the end of the input */

struct huffman {
	struct common_cursor from;
	uint32_t bits; /* the highest bits are the next ones */
	int extra;     /* bits available beyond 16 */
	/* by the next 15 bits: symbol and code length; 0: no code */
	uint16_t table[1u << CODE_MAX];
};

/* Reads a table of code lengths. Codes are canonical: sorted by length, then by symbol. */
static int read_table(struct huffman *huffman)
{
	const uint8_t *lengths = common_read_bytes(&huffman->from, LENGTHS);
	size_t at = 0;

	if (!lengths)
		return common_fail(PTL_CORRUPT, "Xpress Huffman: the input ends within a table of codes");
	for (unsigned length = 1; length <= CODE_MAX; length++)
		for (unsigned symbol = 0; symbol < SYMBOLS; symbol++) {
			const size_t count = (size_t)1 << (CODE_MAX - length);

			if ((lengths[symbol / 2] >> (symbol % 2 ? 4 : 0) & 0xf) != length)
				continue;
			if (count > (1u << CODE_MAX) - at)
				return common_fail(PTL_CORRUPT, "Xpress Huffman: more codes than there can be");
			for (size_t i = 0; i < count; i++)
				huffman->table[at++] = (uint16_t)(symbol << 4 | length);
		}
	if (at != 1u << CODE_MAX)
		return common_fail(PTL_CORRUPT, "Xpress Huffman: codes that no symbol has");
	return 0;
}

/* Reads 16 bits; zeros behind the end of the input. */
static uint32_t read_bits16(struct huffman *huffman)
{
	if (common_cursor_left(&huffman->from) < 2)
		return 0;
	return common_read16(&huffman->from);
}

static void drop_bits(struct huffman *huffman, unsigned count)
{
	huffman->bits <<= count;
	huffman->extra -= (int)count;
	if (huffman->extra < 0) {
		huffman->bits |= read_bits16(huffman) << -huffman->extra;
		huffman->extra += 16;
	}
}

static int read_length(struct huffman *huffman, uint32_t *length)
{
	uint32_t more;

	if (*length < 15)
		return 0;
	more = common_read8(&huffman->from);
	*length = 15 + more;
	if (more == 255) {
		more = common_read16(&huffman->from);
		if (!more)
			more = common_read32(&huffman->from);
		*length = more;
	}
	if (huffman->from.failed || *length < 15)
		return common_fail(PTL_CORRUPT, "Xpress Huffman: a length that cannot be");
	return 0;
}

static int copy_match(struct huffman *huffman, unsigned symbol, struct etl_target *target)
{
	const unsigned count = symbol / 16;
	uint32_t length = symbol % 16;
	size_t distance = (size_t)1 << count;
	int status = read_length(huffman, &length);

	if (status)
		return status;
	if (count)
		distance += huffman->bits >> (32 - count);
	drop_bits(huffman, count);
	if (distance > target->at)
		return common_fail(PTL_CORRUPT, "Xpress Huffman: a copy from before the start");
	etl_copy(target, distance, (size_t)length + 3, target->size);
	return 0;
}

static int expand_block(struct huffman *huffman, struct etl_target *target, bool *ended)
{
	const size_t start = target->at;
	int status = read_table(huffman);

	if (status)
		return status;
	huffman->bits = read_bits16(huffman) << 16;
	huffman->bits |= read_bits16(huffman);
	huffman->extra = 16;
	while (!status && target->at < target->size && target->at - start < BLOCK) {
		const uint16_t entry = huffman->table[huffman->bits >> (32 - CODE_MAX)];
		const unsigned symbol = entry >> 4;

		drop_bits(huffman, entry & 0xf);
		if (symbol < END) {
			target->to[target->at++] = (uint8_t)symbol;
		} else if (symbol == END && !common_cursor_left(&huffman->from)) {
			*ended = true;
			return 0;
		} else {
			status = copy_match(huffman, symbol - END, target);
		}
	}
	return status;
}

int etl_expand_huffman(const uint8_t *from, size_t from_size, uint8_t *to, size_t size, size_t *made)
{
	struct huffman huffman = {.from = common_cursor(from, from_size)};
	struct etl_target target = {to, size, 0};
	bool ended = false;
	int status = 0;

	while (!status && !ended && target.at < size && common_cursor_left(&huffman.from))
		status = expand_block(&huffman, &target, &ended);
	*made = target.at;
	return status;
}
