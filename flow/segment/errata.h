/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Errata of CPUs that change the meaning of packets. docs/decoding.md describes how the decoders handle each erratum.
 */
#ifndef FLOW_SEGMENT_ERRATA_H
#define FLOW_SEGMENT_ERRATA_H

#include <stdbool.h>

#include <ptl/trace.h>

#include "format/pt/decode.h"

/*
 * Names as in Intel's specification updates; if an erratum has several names, the first. BDM70 is not listed: its
 * packets have no other meaning on any CPU.
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
	/* the FUP at an indirect branch has the address behind the branch; Linux: INTEL_PT_FUP_WITH_NLIP */
	bool nlip;
	bool skz84; /* TMA is damaged, and has an extra byte */
};

/* Returns the errata of the CPU that made the packets. Unknown CPUs and software have no errata. */
struct flow_errata flow_errata_of(const struct ptl_machine *machine);

/* Checks whether packets can be damaged. Then only flow_errata_read finds the next packet. */
static inline bool flow_errata_damage(const struct flow_errata *errata)
{
	return errata->skd007 || errata->skz84;
}

/*
 * Corrects a decoded packet. size: result of format_pt_decode_inline for the `left` bytes at data. SKD007's cut CYC and
 * SKZ84's TMA become PAD packets. Returns the actual size.
 */
int flow_errata_mend(const struct flow_errata *errata, const uint8_t *data, size_t left, int size,
		     struct ptl_pt_packet *packet);

/* As format_pt_decode_inline, for packets that may be damaged. */
static inline int flow_errata_read(const struct flow_errata *errata, const uint8_t *data, size_t left,
				   struct ptl_pt_context *context, struct ptl_pt_packet *packet)
{
	int size = format_pt_decode_inline(data, left, context, packet);

	if (__builtin_expect(flow_errata_damage(errata), 0))
		size = flow_errata_mend(errata, data, left, size, packet);
	return size;
}

#endif
