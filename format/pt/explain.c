/* SPDX-License-Identifier: BSD-2-Clause */
/* Explains why bytes are no packet. */
#include <stdio.h>

#include "common/bytes.h"
#include "format/pt/packet.h"

/* Returns the kind of the first bytes, by the table; PTL_PT_NONE: unknown. */
static enum ptl_pt_kind table_kind(const uint8_t *data, size_t size)
{
	uint32_t prefix = (uint32_t)common_load_le(data, size < 3 ? size : 3);

#define X(kind, name, match, mask, least, most)                                                                        \
	if ((prefix & (mask)) == (match) && size > ((mask) > 0xff))                                                    \
		return PTL_PT_##kind;
	FORMAT_PT_PACKET_TABLE(X)
#undef X
	return PTL_PT_NONE;
}

/* Explains bytes of a known kind that ptl_pt_decode rejected as corrupt. */
static void explain_reserved(const uint8_t *data, enum ptl_pt_kind kind, char *text, size_t room)
{
	const char *name = ptl_pt_kind_name(kind);

	switch (kind) {
	case PTL_PT_PSB:
		snprintf(text, room, "broken PSB: its 16 bytes are not 02 82 throughout");
		break;
	case PTL_PT_TNT_64:
		snprintf(text, room, "TNT-64 without a branch");
		break;
	case PTL_PT_TMA:
		snprintf(text, room, "reserved bits are set in TMA");
		break;
	case PTL_PT_CYC:
		snprintf(text, room, "CYC of more than %u bytes", format_pt_layouts[PTL_PT_CYC].most);
		break;
	case PTL_PT_PTWRITE:
		snprintf(text, room, "reserved payload size %u in PTW", data[1] >> FORMAT_PT_PTW_BYTES_SHIFT & 3);
		break;
	case PTL_PT_NONE:
		snprintf(text, room, "reserved leaf %u in MODE", data[1] >> 5);
		break;
	default:
		snprintf(text, room, "reserved IPBytes %u in %s", data[0] >> FORMAT_PT_IP_SHIFT, name);
		break;
	}
}

void ptl_pt_explain(const uint8_t *data, size_t size, int status, char *text, size_t room)
{
	enum ptl_pt_kind kind = size ? table_kind(data, size) : PTL_PT_NONE;

	/* A TNT has one byte and cannot be cut, so this is an extended opcode, or a BIP. */
	if (kind == PTL_PT_TNT_8)
		kind = data[0] == FORMAT_PT_EXTENDED ? PTL_PT_NONE : PTL_PT_BIP;
	if (status == PTL_TRUNCATED)
		snprintf(text, room, "the data ends within %s", kind ? ptl_pt_kind_name(kind) : "a packet");
	else if (status == PTL_CORRUPT && size)
		explain_reserved(data, kind, text, room);
	else if (size > 2 && data[0] == FORMAT_PT_EXTENDED && data[1] == FORMAT_PT_EXTENDED_3)
		snprintf(text, room, "unknown opcode 02 C3 %02X", data[2]);
	else if (size > 1 && data[0] == FORMAT_PT_EXTENDED)
		snprintf(text, room, "unknown opcode 02 %02X", data[1]);
	else
		snprintf(text, room, "unknown opcode %02X", size ? data[0] : 0);
}
