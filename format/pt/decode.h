/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes Intel PT packets: frequent packets inline, rare packets by a call. */
#ifndef FORMAT_PT_DECODE_H
#define FORMAT_PT_DECODE_H

#include "common/bytes.h"
#include "format/pt/last_ip.h"
#include "format/pt/packet.h"

/* Decodes all packets except those that format_pt_decode_inline handles. size: at least 1; data: outside a block. */
int format_pt_decode_rare(const uint8_t *data, size_t size, struct ptl_pt_context *context,
			  struct ptl_pt_packet *packet);
/* Decodes any packet between BBP and the end of its block. */
int format_pt_decode_in_block(const uint8_t *data, size_t size, struct ptl_pt_context *context,
			      struct ptl_pt_packet *packet);

/* Returns the index of the highest set bit; value must not be 0. */
static inline unsigned format_pt_top_bit(uint64_t value)
{
	return 63 - (unsigned)__builtin_clzll(value);
}

/* Returns the number of PAD packets at `data`, outside of a block. CPUs put many PADs into a PSB+. */
static inline size_t format_pt_padding(const uint8_t *data, size_t size)
{
	size_t count = 0;

	/* Outside a PSB+, PADs are rare. */
	if (!size || data[0])
		return 0;
	while (size - count >= 8) {
		const uint64_t word = common_load64(data + count);

		if (word)
			return count + (size_t)__builtin_ctzll(word) / 8;
		count += 8;
	}
	while (count < size && !data[count])
		count++;
	return count;
}

/* Decodes TIP, TIP.PGE, TIP.PGD or FUP, as given by `kind`. */
static inline int format_pt_decode_ip(const uint8_t *data, size_t size, enum ptl_pt_kind kind,
				      struct ptl_pt_packet *packet)
{
	unsigned form = data[0] >> FORMAT_PT_IP_SHIFT;
	unsigned bytes = format_pt_ip_size(form);

	if (bytes > 8)
		return PTL_CORRUPT;
	if (size < 1 + bytes)
		return PTL_TRUNCATED;
	packet->kind = (uint8_t)kind;
	packet->size = (uint8_t)(1 + bytes);
	packet->ip.form = (uint8_t)form;
	/* Loads eight bytes at once and masks them, unless the load would exceed the data. */
	if (size > 8 && bytes)
		packet->ip.payload = common_load64(data + 1) & ~0ull >> (64 - 8 * bytes);
	else
		packet->ip.payload = common_load_le(data + 1, bytes);
	return packet->size;
}

/* Implements ptl_pt_decode (ptl/pt.h). */
static inline int format_pt_decode_inline(const uint8_t *data, size_t size, struct ptl_pt_context *context,
					  struct ptl_pt_packet *packet)
{
	unsigned first;

	if (!size)
		return PTL_TRUNCATED;
	if (__builtin_expect(context->bip_bytes, 0))
		return format_pt_decode_in_block(data, size, context, packet);
	first = data[0];
	if (!(first & 1) && first > FORMAT_PT_EXTENDED) {
		packet->kind = PTL_PT_TNT_8;
		packet->size = FORMAT_PT_SIZE_TNT_8;
		packet->tnt.count = (uint8_t)(format_pt_top_bit(first) - 1);
		packet->tnt.bits = (first & ~(2u << packet->tnt.count)) >> 1;
		return FORMAT_PT_SIZE_TNT_8;
	}
	switch (first & FORMAT_PT_MASK_ADDRESS) {
	case FORMAT_PT_MATCH_TIP:
		return format_pt_decode_ip(data, size, PTL_PT_TIP, packet);
	case FORMAT_PT_MATCH_TIP_PGE:
		return format_pt_decode_ip(data, size, PTL_PT_TIP_PGE, packet);
	case FORMAT_PT_MATCH_TIP_PGD:
		return format_pt_decode_ip(data, size, PTL_PT_TIP_PGD, packet);
	case FORMAT_PT_MATCH_FUP:
		return format_pt_decode_ip(data, size, PTL_PT_FUP, packet);
	default:
		return format_pt_decode_rare(data, size, context, packet);
	}
}

#endif
