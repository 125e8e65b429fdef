/* SPDX-License-Identifier: BSD-2-Clause */
/* The fields of each packet kind, and the check of their ranges. */
#include "format/pt/fields.h"

#include <string.h>

#include "format/pt/packet.h"

/* clang-format off */
#define FIELD(member, field, bits, zeros, style) \
	{#field, offsetof(struct ptl_pt_packet, member.field), \
	 sizeof(((struct ptl_pt_packet *)0)->member.field), bits, zeros, FORMAT_PT_FIELD_##style}
#define NUMBER(member, field, bits) FIELD(member, field, bits, 0, NUMBER)
#define HEX(member, field, bits) FIELD(member, field, bits, 0, HEX)
#define FLAG(member, field) FIELD(member, field, 1, 0, FLAG)

#define IP_FIELDS {FIELD(ip, form, 3, 0, FORM), HEX(ip, payload, 64)}
#define TNT_FIELDS(width) {FIELD(tnt, count, width, 0, BRANCHES), HEX(tnt, bits, 47)}
/* clang-format on */

static const struct format_pt_field fields[PTL_PT_KINDS][FORMAT_PT_FIELDS_MAX + 1] = {
	[PTL_PT_TNT_8] = TNT_FIELDS(3),
	[PTL_PT_TNT_64] = TNT_FIELDS(6),
	[PTL_PT_TIP] = IP_FIELDS,
	[PTL_PT_TIP_PGE] = IP_FIELDS,
	[PTL_PT_TIP_PGD] = IP_FIELDS,
	[PTL_PT_FUP] = IP_FIELDS,
	[PTL_PT_MODE_EXEC] = {FLAG(mode_exec, cs_l), FLAG(mode_exec, cs_d), FLAG(mode_exec, interrupt_flag)},
	[PTL_PT_MODE_TSX] = {FLAG(mode_tsx, in_tx), FLAG(mode_tsx, abort)},
	[PTL_PT_TSC] = {HEX(tsc, tsc, 56)},
	[PTL_PT_CBR] = {NUMBER(cbr, ratio, 8)},
	[PTL_PT_TMA] = {NUMBER(tma, ctc, 16), NUMBER(tma, fast, 9)},
	[PTL_PT_MTC] = {NUMBER(mtc, ctc, 8)},
	[PTL_PT_CYC] = {NUMBER(cyc, cycles, 61)},
	[PTL_PT_PIP] = {FIELD(pip, cr3, 52, 5, HEX), FLAG(pip, non_root)},
	[PTL_PT_VMCS] = {FIELD(vmcs, base, 52, 12, HEX)},
	[PTL_PT_MNT] = {HEX(mnt, payload, 64)},
	[PTL_PT_EXSTOP] = {FLAG(exstop, ip)},
	[PTL_PT_MWAIT] = {HEX(mwait, hints, 32), HEX(mwait, extensions, 32)},
	[PTL_PT_PWRE] = {NUMBER(pwre, state, 4), NUMBER(pwre, sub_state, 4), FLAG(pwre, hardware)},
	[PTL_PT_PWRX] = {NUMBER(pwrx, last, 4), NUMBER(pwrx, deepest, 4), HEX(pwrx, wake, 4)},
	[PTL_PT_PTWRITE] = {FIELD(ptwrite, bytes, 4, 0, BYTES), HEX(ptwrite, payload, 64), FLAG(ptwrite, ip)},
	[PTL_PT_BBP] = {NUMBER(bbp, type, 5), FIELD(bbp, bip_bytes, 4, 0, BYTES)},
	[PTL_PT_BIP] = {FIELD(bip, bytes, 4, 0, BYTES), NUMBER(bip, id, 5), HEX(bip, payload, 64)},
	[PTL_PT_BEP] = {FLAG(bep, ip)},
	[PTL_PT_CFE] = {NUMBER(cfe, type, 5), NUMBER(cfe, vector, 8), FLAG(cfe, ip)},
	[PTL_PT_EVD] = {NUMBER(evd, type, 6), HEX(evd, payload, 64)},
	[PTL_PT_TRIG] = {HEX(trig, triggers, 8), FLAG(trig, ip), FLAG(trig, multiple), FLAG(trig, has_count),
			 NUMBER(trig, count, 16)},
};

const struct format_pt_field *format_pt_fields(unsigned kind)
{
	return fields[kind < PTL_PT_KINDS ? kind : PTL_PT_NONE];
}

uint64_t format_pt_field_get(const struct ptl_pt_packet *packet, const struct format_pt_field *field)
{
	const uint8_t *at = (const uint8_t *)packet + field->offset;
	uint16_t value16;
	uint32_t value32;
	uint64_t value64;

	switch (field->width) {
	case 1:
		return *at;
	case 2:
		memcpy(&value16, at, 2);
		return value16;
	case 4:
		memcpy(&value32, at, 4);
		return value32;
	default:
		memcpy(&value64, at, 8);
		return value64;
	}
}

void format_pt_field_set(struct ptl_pt_packet *packet, const struct format_pt_field *field, uint64_t value)
{
	uint8_t *at = (uint8_t *)packet + field->offset;
	uint16_t value16 = (uint16_t)value;
	uint32_t value32 = (uint32_t)value;

	switch (field->width) {
	case 1:
		*at = (uint8_t)value;
		break;
	case 2:
		memcpy(at, &value16, 2);
		break;
	case 4:
		memcpy(at, &value32, 4);
		break;
	default:
		memcpy(at, &value, 8);
		break;
	}
}

static bool in_range(const struct format_pt_field *field, uint64_t value)
{
	if (field->style == FORMAT_PT_FIELD_BYTES)
		return value == 4 || value == 8;
	if (field->style == FORMAT_PT_FIELD_FORM)
		return value < 8 && format_pt_ip_size((unsigned)value) <= 8;
	if (field->bits < 64 && value >> field->bits)
		return false;
	return !(value & ((1ull << field->zeros) - 1));
}

/* size: 0 to 8 bytes. */
static bool fits(uint64_t payload, unsigned size)
{
	return size == 8 || payload >> 8 * size == 0;
}

/* Returns the name of an invalid field whose range depends on another field, or NULL. */
static const char *invalid_together(const struct ptl_pt_packet *packet)
{
	unsigned most = packet->kind == PTL_PT_TNT_8 ? FORMAT_PT_TNT_8_MAX : FORMAT_PT_TNT_64_MAX;

	switch (packet->kind) {
	case PTL_PT_TNT_8:
	case PTL_PT_TNT_64:
		if (!packet->tnt.count || packet->tnt.count > most)
			return "count";
		return packet->tnt.bits >> packet->tnt.count ? "bits" : NULL;
	case PTL_PT_TIP:
	case PTL_PT_TIP_PGE:
	case PTL_PT_TIP_PGD:
	case PTL_PT_FUP:
		return fits(packet->ip.payload, format_pt_ip_size(packet->ip.form)) ? NULL : "payload";
	case PTL_PT_PTWRITE:
		return fits(packet->ptwrite.payload, packet->ptwrite.bytes) ? NULL : "payload";
	case PTL_PT_BIP:
		return fits(packet->bip.payload, packet->bip.bytes) ? NULL : "payload";
	case PTL_PT_TRIG:
		return packet->trig.count && !packet->trig.has_count ? "count" : NULL;
	default:
		return NULL;
	}
}

const char *format_pt_packet_invalid(const struct ptl_pt_packet *packet)
{
	if (packet->kind == PTL_PT_NONE || packet->kind >= PTL_PT_KINDS)
		return "kind";
	for (const struct format_pt_field *field = format_pt_fields(packet->kind); field->name; field++)
		if (!in_range(field, format_pt_field_get(packet, field)))
			return field->name;
	return invalid_together(packet);
}
