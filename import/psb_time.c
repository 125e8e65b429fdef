/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks the packets of a PSB+. */
#include "import/psb_time.h"

#include <ptl/error.h>
#include <ptl/pt.h>

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
			*time = machine->tsc_zero +
				(uint64_t)((__uint128_t)packet.tsc.tsc * machine->tsc_multiplier >> machine->tsc_shift);
			return IMPORT_PSB_TIMED;
		}
		at += (size_t)used;
	}
	return IMPORT_PSB_TIMELESS;
}
