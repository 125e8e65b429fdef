/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A packed record consists of the sizes of its numbers, four bits each, and the numbers without leading zero bytes.
 * Numbers are written and read as eight bytes each, so no branch depends on a size.
 */
#include "analysis/call/call_pack.h"

#include "common/bytes.h"

#define SIZES 6 /* bytes */

_Static_assert(SIZES + (2 * SIZES + 1) * sizeof(uint64_t) <= ANALYSIS_PACKED_MAX, "a record fits");

struct packing {
	uint8_t *at;
	uint64_t sizes;
	unsigned shift;
};

static inline void put_number(struct packing *packing, uint64_t number)
{
	const size_t size = (size_t)(71 - __builtin_clzll(number | 1)) / 8 - !number;

	common_store64(packing->at, number);
	packing->at += size;
	packing->sizes |= (uint64_t)size << packing->shift;
	packing->shift += 4;
}

/* Most numbers of a leaf are 0 if another call began at the same time. */
uint8_t *analysis_record_pack(uint8_t *at, const struct analysis_packed_before *before,
			      const struct analysis_call_record *record, size_t index)
{
	struct packing packing = {.at = at + SIZES};

	put_number(&packing, record->start - before->start);
	put_number(&packing, record->self_time);
	put_number(&packing, record->wall - record->self_time);
	put_number(&packing, record->self_instructions);
	put_number(&packing, record->instructions - record->self_instructions);
	put_number(&packing, record->children);
	put_number(&packing, record->repeats ^ 1);
	put_number(&packing, record->end - index - 1);
	put_number(&packing, record->function);
	put_number(&packing, common_zigzag((int64_t)record->depth - before->depth));
	put_number(&packing, record->flags | (uint64_t)record->kind << 16 | (uint64_t)record->hidden << 24 |
				     (uint64_t)(record->stack ^ before->stack) << 32);
	put_number(&packing, record->kind == ANALYSIS_RECORD_EVENT ? (uint64_t)(uintptr_t)record->lines : 0);
	common_store32(at, (uint32_t)packing.sizes);
	common_store16(at + 4, (uint16_t)(packing.sizes >> 32));
	return packing.at;
}

static inline uint64_t take_packed(const uint8_t **at, uint64_t *sizes)
{
	static const uint64_t masks[16] = {
		0, 0xff, 0xffff, 0xffffff, 0xffffffff, 0xffffffffff, 0xffffffffffff, 0xffffffffffffff, UINT64_MAX};
	const size_t size = *sizes & 0xf;
	const uint64_t number = common_load64(*at) & masks[size];

	*at += size;
	*sizes >>= 4;
	return number;
}

const uint8_t *analysis_record_unpack(const uint8_t *at, const struct analysis_packed_before *before, size_t index,
				      struct analysis_call_record *record)
{
	uint64_t sizes = common_load64(at), flags, lines;

	at += SIZES;
	record->start = take_packed(&at, &sizes) + before->start;
	record->self_time = take_packed(&at, &sizes);
	record->wall = take_packed(&at, &sizes) + record->self_time;
	record->self_instructions = take_packed(&at, &sizes);
	record->instructions = take_packed(&at, &sizes) + record->self_instructions;
	record->children = take_packed(&at, &sizes);
	record->repeats = take_packed(&at, &sizes) ^ 1;
	record->end = take_packed(&at, &sizes) + index + 1;
	record->function = (uint32_t)take_packed(&at, &sizes);
	record->depth = (int32_t)(before->depth + common_unzigzag(take_packed(&at, &sizes)));
	flags = take_packed(&at, &sizes);
	lines = take_packed(&at, &sizes);
	record->flags = (uint16_t)flags;
	record->kind = (uint8_t)(flags >> 16);
	record->hidden = flags >> 24 & 1;
	record->stack = (uint32_t)(flags >> 32) ^ before->stack;
	record->shape = 0;
	if (record->kind == ANALYSIS_RECORD_EVENT)
		record->lines = (const uint8_t *)(uintptr_t)lines; /* NOLINT(performance-no-int-to-ptr) */
	return at;
}
