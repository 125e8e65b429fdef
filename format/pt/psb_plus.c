/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes the packets of a PSB+. */
#include "format/pt/psb_plus.h"

#include <ptl/error.h>

#include "format/pt/decode.h"

bool format_pt_in_psb_plus(uint8_t kind)
{
	switch (kind) {
	case PTL_PT_PAD:
	case PTL_PT_FUP:
	case PTL_PT_MODE_EXEC:
	case PTL_PT_MODE_TSX:
	case PTL_PT_TSC:
	case PTL_PT_TMA:
	case PTL_PT_MTC:
	case PTL_PT_CYC:
	case PTL_PT_CBR:
	case PTL_PT_PIP:
	case PTL_PT_VMCS:
	case PTL_PT_MNT:
		return true;
	default:
		return false;
	}
}

bool format_pt_psb_plus_read(const uint8_t *data, size_t size, struct format_pt_psb_plus *psb_plus)
{
	struct ptl_pt_context context = {0};
	struct ptl_pt_packet packet;

	*psb_plus = (struct format_pt_psb_plus){0};
	if (size < PTL_PT_PSB_SIZE)
		return false;
	psb_plus->size = PTL_PT_PSB_SIZE;
	while (psb_plus->size < FORMAT_PT_PSB_PLUS_MAX) {
		const int taken = format_pt_decode_inline(data + psb_plus->size, size - psb_plus->size, &context,
							  &packet);

		if (taken == PTL_TRUNCATED)
			return false;
		psb_plus->complete = taken > 0 && packet.kind == PTL_PT_PSBEND;
		if (taken < 0 || (!psb_plus->complete && !format_pt_in_psb_plus(packet.kind)))
			break;
		psb_plus->size += (size_t)taken;
		if (psb_plus->complete)
			break;
		psb_plus->has_fup |= packet.kind == PTL_PT_FUP;
	}
	return true;
}
