/* SPDX-License-Identifier: BSD-2-Clause */
/* PSB+: a PSB and the state behind it (SDM, section "PSB+"). */
#ifndef FORMAT_PT_PSB_PLUS_H
#define FORMAT_PT_PSB_PLUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FORMAT_PT_PSB_PLUS_MAX 512u /* bytes, enough for what CPUs make */

struct format_pt_psb_plus {
	size_t size;   /* bytes up to and including PSBEND, or of the packets before what is wrong */
	bool complete; /* it ends with PSBEND, not with an overflow or damage */
	bool has_fup;  /* it says where the flow is */
};

/* Whether a packet of this kind may stand between PSB and PSBEND. */
bool format_pt_in_psb_plus(uint8_t kind);

/* data begins with the PSB. False: the bytes end before its end. */
bool format_pt_psb_plus_read(const uint8_t *data, size_t size, struct format_pt_psb_plus *psb_plus);

#endif
