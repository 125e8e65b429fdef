/* SPDX-License-Identifier: BSD-2-Clause */
/* Errata of CPUs that matter to the meaning of their packets; docs/decoding.md says what is done about each. */
#ifndef FLOW_SEGMENT_ERRATA_H
#define FLOW_SEGMENT_ERRATA_H

#include <stdbool.h>

#include <ptl/trace.h>

#include "format/pt/decode.h"

/*
 * Called as Intel's specification updates call them; where several do, as the first one did. BDM70 is not among them:
 * its packets have no other meaning on any CPU.
 */
struct flow_errata {
	bool bdm64;  /* a branch just before a transaction's abort is recorded wrongly */
	bool skd007; /* OVF overwrites all but the first byte of a CYC */
	bool skd010; /* the FUP or TIP.PGE behind OVF is missing */
	bool skd022; /* a VM entry that disables packets makes a FUP before TIP.PGD */
	bool skl014; /* a direct branch out of the filter's range has TIP.PGD without its target */
	bool skl168; /* a CYC before PSB is missing */
	bool apl11;  /* OVF is followed by TIP.PGD */
	bool apl12;  /* OVF with a FUP, though packets are disabled */
	bool nlip;   /* FUP at an indirect branch has the address behind it; Linux: INTEL_PT_FUP_WITH_NLIP */
	bool skz84;  /* TMA is damaged, and has a byte too many */
};

/* Those of the CPU that made the packets; none for a CPU that is not known, and for software. */
struct flow_errata flow_errata_of(const struct ptl_machine *machine);

/* Whether packets are damaged, and only flow_errata_read finds out where the next one is. */
static inline bool flow_errata_damage(const struct flow_errata *errata)
{
	return errata->skd007 || errata->skz84;
}

/*
 * Looks at what format_pt_decode_inline made of the bytes at data, with `left` bytes, and returns the size of what is
 * really there: SKD007's cut CYC and SKZ84's TMA become PAD packets.
 */
int flow_errata_mend(const struct flow_errata *errata, const uint8_t *data, size_t left, int size,
		     struct ptl_pt_packet *packet);

/* format_pt_decode_inline, for packets that may be damaged. */
static inline int flow_errata_read(const struct flow_errata *errata, const uint8_t *data, size_t left,
				   struct ptl_pt_context *context, struct ptl_pt_packet *packet)
{
	int size = format_pt_decode_inline(data, left, context, packet);

	if (__builtin_expect(flow_errata_damage(errata), 0))
		size = flow_errata_mend(errata, data, left, size, packet);
	return size;
}

#endif
