/* SPDX-License-Identifier: BSD-2-Clause */
/* Errata of CPUs that matter to the meaning of their packets; docs/decoding.md says what is done about each. */
#ifndef PTL_DUMP_ERRATA_H
#define PTL_DUMP_ERRATA_H

#include <stdbool.h>

#include <ptl/trace.h>

/* Called as Intel's specification updates call them; where several do, as the first one did. */
struct ptl_errata {
	bool any;    /* of those below */
	bool bdm64;  /* a branch just before a transaction's abort is recorded wrongly */
	bool bdm70;  /* PSB+ before TIP.PGE holds a FUP, though packets are disabled */
	bool skd007; /* OVF overwrites all but the first byte of a CYC */
	bool skd010; /* the FUP or TIP.PGE behind OVF is missing */
	bool skd022; /* a VM entry that disables packets makes a FUP before TIP.PGD */
	bool apl12;  /* OVF with a FUP, though packets are disabled */
	bool skz84;  /* TMA is damaged, and has a byte too many */
};

/* Those of the CPU that made the packets; none for a CPU that is not known, and for software. */
struct ptl_errata ptl_errata_of(const struct ptl_machine *machine);

#endif
