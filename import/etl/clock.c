/* SPDX-License-Identifier: BSD-2-Clause */
/* Clocks of .etl files: the performance counter, the system time, CPU cycles. */
#include <stdio.h>
#include <time.h>

#include "import/etl/file/layout.h"
#include "import/etl/import.h"

#define SECOND 1000000000u
#define FILETIME_UNIT 100u                  /* nanoseconds */
#define FILETIME_1970 116444736000000000ull /* 1970 in FILETIME units since 1601 */

int64_t etl_clock_filetime(uint64_t filetime)
{
	const int64_t since = (int64_t)(filetime - FILETIME_1970);
	int64_t nanoseconds;

	if (filetime > INT64_MAX)
		return INT64_MAX;
	if (__builtin_mul_overflow(since, (int64_t)FILETIME_UNIT, &nanoseconds))
		return since < 0 ? INT64_MIN : INT64_MAX;
	return nanoseconds;
}

int64_t etl_clock_systemtime(const uint8_t *systemtime)
{
	struct tm date = {
		.tm_year = common_load16(systemtime) - 1900,
		.tm_mon = common_load16(systemtime + 2) - 1,
		.tm_mday = common_load16(systemtime + 6),
		.tm_hour = common_load16(systemtime + 8),
		.tm_min = common_load16(systemtime + 10),
		.tm_sec = common_load16(systemtime + 12),
	};
	const int64_t seconds = timegm(&date);
	int64_t nanoseconds;

	if (__builtin_mul_overflow(seconds, (int64_t)SECOND, &nanoseconds) ||
	    __builtin_add_overflow(nanoseconds, (int64_t)common_load16(systemtime + 14) * 1000000, &nanoseconds))
		return seconds < 0 ? INT64_MIN : INT64_MAX;
	return nanoseconds;
}

/* Converts a FILETIME to a time of the machine record; 0 for times before 1970. */
static int64_t wall_time(uint64_t filetime)
{
	const int64_t time = etl_clock_filetime(filetime);

	return time < 0 ? 0 : time;
}

/* A frequency that divides a second needs only a multiplication. */
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
