/* SPDX-License-Identifier: BSD-2-Clause */
/* The clocks of .etl files: the performance counter, the system's time, cycles of the CPU. */
#include <stdio.h>

#include "import/etl/import.h"
#include "import/etl/layout.h"

#define SECOND 1000000000u
#define FILETIME_UNIT 100u                  /* nanoseconds */
#define FILETIME_1970 116444736000000000ull /* 1970 in units since 1601 */

/* Nanoseconds since 1970; 0 for what was before, or is farther than the trace's times go. */
static int64_t wall_time(uint64_t filetime)
{
	const uint64_t since = filetime - FILETIME_1970;

	return filetime < FILETIME_1970 || since > INT64_MAX / FILETIME_UNIT ? 0 : (int64_t)(since * FILETIME_UNIT);
}

/* A frequency that divides a second costs one multiplication. */
static uint64_t from_ticks(uint64_t ticks, uint64_t frequency)
{
	if (!frequency)
		return ticks;
	if (SECOND % frequency == 0)
		return ticks * (SECOND / frequency);
	return (uint64_t)((unsigned __int128)ticks * SECOND / frequency);
}

uint64_t etl_clock_time(const struct etl_import *import, uint64_t ticks)
{
	const struct etl_log_header *header = etl_file_header(import->file);

	switch (import->machine.clock) {
	case PTL_CLOCK_SYSTEM:
		return (uint64_t)wall_time(ticks);
	case PTL_CLOCK_CYCLES:
		return from_ticks(ticks, (uint64_t)header->cpu_mhz * 1000000);
	default:
		return from_ticks(ticks, header->frequency);
	}
}

void etl_clock_set(struct etl_import *import)
{
	const struct etl_log_header *header = etl_file_header(import->file);
	struct ptl_machine *machine = &import->machine;

	machine->clock = header->clock == ETL_CLOCK_SYSTEM   ? PTL_CLOCK_SYSTEM
			 : header->clock == ETL_CLOCK_CYCLES ? PTL_CLOCK_CYCLES
							     : PTL_CLOCK_QPC;
	machine->start_time = etl_clock_time(import, header->first_time);
	machine->wall_start = wall_time(header->start_time);
	machine->wall_uncertainty = FILETIME_UNIT;
	if (machine->clock == PTL_CLOCK_CYCLES)
		machine->tsc_frequency = (uint64_t)header->cpu_mhz * 1000000;
	if (header->boot_time)
		snprintf(machine->boot_id, sizeof(machine->boot_id), "windows-%016llx",
			 (unsigned long long)header->boot_time);
}
