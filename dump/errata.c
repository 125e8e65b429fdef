/* SPDX-License-Identifier: BSD-2-Clause */
/* Which CPU has which errata: libipt's table, so that all engines agree. */
#include "dump/errata.h"

#include <intel-pt.h>

struct ptl_errata ptl_errata_of(const struct ptl_machine *machine)
{
	const struct pt_cpu cpu = {
		.vendor = pcv_intel,
		.family = machine->family,
		.model = machine->model,
		.stepping = machine->stepping,
	};
	struct pt_errata known = {0};
	struct ptl_errata errata;

	if (machine->vendor != PTL_VENDOR_INTEL || machine->software || pt_cpu_errata(&known, &cpu) < 0)
		return (struct ptl_errata){0};
	errata = (struct ptl_errata){
		.bdm64 = known.bdm64,
		.bdm70 = known.bdm70,
		.skd007 = known.skd007,
		.skd010 = known.skd010,
		.skd022 = known.skd022,
		.apl12 = known.apl12,
		.skz84 = known.skz84,
	};
	errata.any = errata.bdm64 || errata.bdm70 || errata.skd007 || errata.skd010 || errata.skd022 ||
		     errata.apl12 || errata.skz84;
	return errata;
}
