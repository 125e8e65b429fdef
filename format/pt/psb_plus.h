/* SPDX-License-Identifier: BSD-2-Clause */
/* PSB+: a PSB and the following state packets (SDM, section "PSB+"). */
#ifndef FORMAT_PT_PSB_PLUS_H
#define FORMAT_PT_PSB_PLUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FORMAT_PT_PSB_PLUS_MAX 512u /* limit in bytes, larger than any PSB+ of a CPU */

struct format_pt_psb_plus {
	size_t size;   /* bytes up to and including PSBEND, or up to the first invalid packet */
	bool complete; /* ends with PSBEND, not with an overflow or damage */
	bool has_fup;  /* has a FUP, which gives the address of the flow */
};

/* Whether a packet of this kind is allowed between PSB and PSBEND. */
bool format_pt_in_psb_plus(uint8_t kind);

/* Reads a PSB+; data begins with the PSB. Returns false if the bytes end within the PSB+. */
bool format_pt_psb_plus_read(const uint8_t *data, size_t size, struct format_pt_psb_plus *psb_plus);

#endif
