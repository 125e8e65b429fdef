/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks for TSC packets outside of virtual machines. */
#include "import/host_time.h"

#include <stdbool.h>

#include <ptl/pt.h>

#include "flow/segment/packets.h"
#include "format/pt/tsc.h"

uint64_t import_host_time(const struct ptl_machine *machine, const uint8_t *data, size_t size)
{
	const struct flow_errata errata = flow_errata_of(machine);
	struct ptl_pt_context context = {0};
	struct ptl_pt_packet packet, paging;
	bool guest = true;
	int length;

	for (size_t at = 0; at < size; at += (size_t)length) {
		length = flow_errata_read(&errata, data + at, size - at, &context, &packet);
		if (length <= 0)
			return 0;
		/* The TSC of a PSB+ comes before the PIP. */
		if (packet.kind == PTL_PT_PSB && flow_psb_plus_paging(data + at, size - at, &errata, &paging))
			guest = paging.pip.non_root;
		else if (packet.kind == PTL_PT_PIP)
			guest = packet.pip.non_root;
		else if (packet.kind == PTL_PT_TSC && !guest)
			return format_tsc_time(machine, format_tsc_extend(format_tsc_lowest(machine), packet.tsc.tsc));
	}
	return 0;
}
