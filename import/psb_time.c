/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes the packets of a PSB+ up to the TSC. */
#include "import/psb_time.h"

#include <ptl/error.h>
#include <ptl/pt.h>

#include "format/pt/tsc.h"

enum import_psb_found import_psb_time(const struct ptl_machine *machine, const uint8_t *data, size_t size,
				      uint64_t *time)
{
	struct ptl_pt_context context = {0};
	size_t at = 0;

	if (!machine->tsc_multiplier)
		return IMPORT_PSB_TIMELESS;
	while (at < IMPORT_PSB_PLUS_MAX) {
		struct ptl_pt_packet packet;
		const int used = at < size ? ptl_pt_decode(data + at, size - at, &context, &packet) : PTL_TRUNCATED;

		if (used == PTL_TRUNCATED)
			return IMPORT_PSB_UNFINISHED;
		if (used <= 0 || packet.kind == PTL_PT_PSBEND)
			break;
		if (packet.kind == PTL_PT_TSC) {
			*time = format_tsc_time(machine, format_tsc_extend(format_tsc_lowest(machine), packet.tsc.tsc));
			return IMPORT_PSB_TIMED;
		}
		at += (size_t)used;
	}
	return IMPORT_PSB_TIMELESS;
}
