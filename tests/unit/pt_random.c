/* SPDX-License-Identifier: BSD-2-Clause */
/* Random packets with valid fields, identical in every run. */
#include "tests/unit/pt_random.h"

struct pt_random pt_random(uint64_t seed)
{
	return (struct pt_random){seed * 0x9e3779b97f4a7c15ull | 1};
}

uint64_t pt_random_next(struct pt_random *random)
{
	random->state ^= random->state >> 12;
	random->state ^= random->state << 25;
	random->state ^= random->state >> 27;
	return random->state * 0x2545f4914f6cdd1dull;
}

uint64_t pt_random_below(struct pt_random *random, uint64_t limit)
{
	return (pt_random_next(random) >> 11) % limit;
}

uint64_t pt_random_bits(struct pt_random *random, unsigned bits)
{
	unsigned width = (unsigned)pt_random_below(random, bits + 1);

	return width ? pt_random_next(random) >> (64 - width) : 0;
}

static uint64_t pt_random_field(struct pt_random *random, const struct format_pt_field *field)
{
	switch (field->style) {
	case FORMAT_PT_FIELD_BYTES:
		return pt_random_below(random, 2) ? 8 : 4;
	case FORMAT_PT_FIELD_FORM:
		return (const uint8_t[]){0, 1, 2, 3, 4, 6}[pt_random_below(random, 6)];
	default:
		return pt_random_bits(random, field->bits) >> field->zeros << field->zeros;
	}
}

void pt_random_packet_of(struct pt_random *random, unsigned kind, struct ptl_pt_packet *packet)
{
	*packet = (struct ptl_pt_packet){.kind = (uint8_t)kind};
	for (const struct format_pt_field *field = format_pt_fields(kind); field->name; field++)
		format_pt_field_set(packet, field, pt_random_field(random, field));
	/* Ranges that depend on another field. */
	switch (kind) {
	case PTL_PT_TNT_8:
	case PTL_PT_TNT_64:
		packet->tnt.count = (uint8_t)(1 + pt_random_below(random, kind == PTL_PT_TNT_8 ? FORMAT_PT_TNT_8_MAX
											       : FORMAT_PT_TNT_64_MAX));
		packet->tnt.bits = pt_random_next(random) >> (64 - packet->tnt.count);
		break;
	case PTL_PT_TIP:
	case PTL_PT_TIP_PGE:
	case PTL_PT_TIP_PGD:
	case PTL_PT_FUP:
		packet->ip.payload = pt_random_bits(random, 8 * format_pt_ip_size(packet->ip.form));
		break;
	case PTL_PT_PTWRITE:
		packet->ptwrite.payload = pt_random_bits(random, 8 * packet->ptwrite.bytes);
		break;
	case PTL_PT_BIP:
		packet->bip.payload = pt_random_bits(random, 8 * packet->bip.bytes);
		break;
	case PTL_PT_TRIG:
		packet->trig.count = packet->trig.has_count ? packet->trig.count : 0;
		break;
	}
}

void pt_random_packet(struct pt_random *random, struct ptl_pt_packet *packet)
{
	pt_random_packet_of(random, 1 + (unsigned)pt_random_below(random, PTL_PT_KINDS - 1), packet);
}
