/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of Intel PT packets by kind. */
#include "format/pt/packet.h"

const struct format_pt_layout format_pt_layouts[PTL_PT_KINDS] = {
#define X(kind, name, match, mask, least, most) [PTL_PT_##kind] = {name, match, mask, least, most},
	FORMAT_PT_PACKET_TABLE(X)
#undef X
		/* BIP is recognised only by context, so the mask matches nothing. */
		[PTL_PT_BIP] = {"BIP", 0x04, 0, 5, 9},
};

const char *ptl_pt_kind_name(unsigned kind)
{
	return kind < PTL_PT_KINDS && format_pt_layouts[kind].name ? format_pt_layouts[kind].name : "none";
}
