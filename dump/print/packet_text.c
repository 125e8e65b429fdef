/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats packets as text and JSON, by the table of their fields. */
#include "dump/print/packet_text.h"

#include <string.h>

#include "format/pt/fields.h"
#include "format/pt/last_ip.h"
#include "format/pt/packet.h"

/*
 * A text under construction. The longest text, a TNT-64 with 47 branches or a packet with all fields, is well below
 * PACKET_TEXT_SIZE; a longer text would be cut. Formatted by hand: a trace has hundreds of millions of packets, and
 * snprintf would take most of the time.
 */
struct line {
	char *text;
	size_t size;
};

static void put_char(struct line *line, char c)
{
	if (line->size < PACKET_TEXT_SIZE - 1)
		line->text[line->size++] = c;
}

static void put_text(struct line *line, const char *text)
{
	while (*text)
		put_char(line, *text++);
}

static void put_hex(struct line *line, uint64_t value)
{
	unsigned digits = value ? (67 - (unsigned)__builtin_clzll(value)) / 4 : 1;

	put_text(line, "0x");
	while (digits--)
		put_char(line, "0123456789abcdef"[value >> 4 * digits & 15]);
}

static void put_decimal(struct line *line, uint64_t value)
{
	char digits[20];
	unsigned count = 0;

	do
		digits[count++] = (char)('0' + value % 10);
	while (value /= 10);
	while (count--)
		put_char(line, digits[count]);
}

static void put_name(struct line *line, const char *name)
{
	for (; *name; name++)
		put_char(line, *name >= 'A' && *name <= 'Z' ? (char)(*name + 'a' - 'A') : *name);
}

const char *dump_packet_form_name(unsigned form)
{
	static const char *const names[8] = {
		[PTL_PT_IP_UPDATE_16] = "update16", [PTL_PT_IP_UPDATE_32] = "update32", [PTL_PT_IP_SIGN_48] = "sign48",
		[PTL_PT_IP_UPDATE_48] = "update48", [PTL_PT_IP_FULL] = "full",
	};

	return form < 8 ? names[form] : NULL;
}

static void put_branches(struct line *line, const struct ptl_pt_packet *packet)
{
	for (unsigned i = packet->tnt.count; i-- > 0;)
		put_char(line, packet->tnt.bits >> i & 1 ? 't' : 'n');
}

static void put_ip(struct line *line, const struct ptl_pt_packet *packet, uint64_t last_ip)
{
	uint64_t last = last_ip, ip;

	if (!ptl_pt_ip_resolve(packet, &last, &ip)) {
		put_char(line, '-');
		return;
	}
	put_hex(line, ip);
	if (packet->ip.form != format_pt_ip_compress(last_ip, ip)) {
		put_text(line, " form=");
		put_text(line, dump_packet_form_name(packet->ip.form));
	}
}

/* Returns the mode for CS.L and CS.D (SDM, section "MODE Packets"). */
static const char *mode_name(const struct ptl_pt_packet *packet)
{
	static const char *const names[2][2] = {{"16", "32"}, {"64", "cs_l+cs_d"}};

	return names[packet->mode_exec.cs_l & 1][packet->mode_exec.cs_d & 1];
}

static void put_value(struct line *line, const struct format_pt_field *field, uint64_t value)
{
	if (field->style == FORMAT_PT_FIELD_HEX)
		put_hex(line, value);
	else
		put_decimal(line, value);
}

/* Formats the fields of other packets by the table. */
static void put_fields(struct line *line, const struct ptl_pt_packet *packet)
{
	const struct format_pt_field *fields = format_pt_fields(packet->kind);
	bool alone = !fields[0].name || (!fields[1].name && fields[0].style != FORMAT_PT_FIELD_FLAG);

	for (const struct format_pt_field *field = fields; field->name; field++) {
		uint64_t value = format_pt_field_get(packet, field);

		if (field->style == FORMAT_PT_FIELD_FLAG && !value)
			continue;
		put_char(line, ' ');
		if (!alone)
			put_text(line, field->name);
		if (field->style == FORMAT_PT_FIELD_FLAG)
			continue;
		if (!alone)
			put_char(line, '=');
		put_value(line, field, value);
	}
}

size_t dump_packet_text(const struct ptl_pt_packet *packet, uint64_t last_ip, char text[PACKET_TEXT_SIZE])
{
	struct line line = {.text = text};

	put_name(&line, ptl_pt_kind_name(packet->kind));
	switch (packet->kind) {
	case PTL_PT_TNT_8:
	case PTL_PT_TNT_64:
		put_char(&line, ' ');
		put_branches(&line, packet);
		break;
	case PTL_PT_TIP:
	case PTL_PT_TIP_PGE:
	case PTL_PT_TIP_PGD:
	case PTL_PT_FUP:
		put_char(&line, ' ');
		put_ip(&line, packet, last_ip);
		break;
	case PTL_PT_MODE_EXEC:
		put_char(&line, ' ');
		put_text(&line, mode_name(packet));
		put_text(&line, packet->mode_exec.interrupt_flag ? " if" : "");
		break;
	default:
		put_fields(&line, packet);
		break;
	}
	text[line.size] = 0;
	return line.size;
}

static void ip_json(const struct ptl_pt_packet *packet, uint64_t last_ip, struct common_json *json)
{
	uint64_t ip;

	if (!ptl_pt_ip_resolve(packet, &last_ip, &ip)) {
		common_json_null(json, "ip");
		return;
	}
	common_json_hex(json, "ip", ip);
	common_json_string(json, "form", dump_packet_form_name(packet->ip.form));
	common_json_hex(json, "payload", packet->ip.payload);
}

static void branches_json(const struct ptl_pt_packet *packet, struct common_json *json)
{
	char text[PACKET_TEXT_SIZE];
	struct line line = {.text = text};

	put_branches(&line, packet);
	common_json_string_n(json, "branches", text, line.size);
}

static void field_json(const struct ptl_pt_packet *packet, const struct format_pt_field *field,
		       struct common_json *json)
{
	uint64_t value = format_pt_field_get(packet, field);

	if (field->style == FORMAT_PT_FIELD_FLAG)
		common_json_bool(json, field->name, value != 0);
	else if (field->style == FORMAT_PT_FIELD_HEX)
		common_json_hex(json, field->name, value);
	else
		common_json_u64(json, field->name, value);
}

void dump_packet_json(const struct ptl_pt_packet *packet, uint64_t last_ip, struct common_json *json)
{
	common_json_string(json, "packet", ptl_pt_kind_name(packet->kind));
	common_json_u64(json, "size", packet->size);
	switch (packet->kind) {
	case PTL_PT_TNT_8:
	case PTL_PT_TNT_64:
		branches_json(packet, json);
		break;
	case PTL_PT_TIP:
	case PTL_PT_TIP_PGE:
	case PTL_PT_TIP_PGD:
	case PTL_PT_FUP:
		ip_json(packet, last_ip, json);
		break;
	default:
		for (const struct format_pt_field *field = format_pt_fields(packet->kind); field->name; field++)
			field_json(packet, field, json);
		break;
	}
}
