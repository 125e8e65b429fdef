/* SPDX-License-Identifier: BSD-2-Clause */
/* Names that ptl-dump info prints. */
#include <inttypes.h>
#include <stdio.h>

#include "dump/command/info.h"

const char *dump_kind_name(uint32_t kind, char room[16])
{
	static const char *const names[] = {
		[PTL_KIND_METADATA] = "metadata", [PTL_KIND_EVENTS] = "events", [PTL_KIND_PT] = "pt",
		[PTL_KIND_BLOB] = "blobs",        [PTL_KIND_INDEX] = "index",   [PTL_KIND_TRUTH] = "truth",
	};

	if (kind < sizeof(names) / sizeof(names[0]) && names[kind])
		return names[kind];
	snprintf(room, 16, "kind %" PRIu32, kind);
	return room;
}

const char *dump_clock_name(uint32_t clock)
{
	static const char *const names[] = {
		[PTL_CLOCK_MONOTONIC] = "monotonic", [PTL_CLOCK_MONOTONIC_RAW] = "monotonic-raw",
		[PTL_CLOCK_PERF] = "perf",           [PTL_CLOCK_VIRTUAL] = "virtual",
		[PTL_CLOCK_NONE] = "none",           [PTL_CLOCK_QPC] = "qpc",
		[PTL_CLOCK_SYSTEM] = "system",       [PTL_CLOCK_CYCLES] = "cycles",
	};

	return clock < sizeof(names) / sizeof(names[0]) && names[clock] ? names[clock] : "unknown";
}

const char *dump_timing_name(uint32_t timing)
{
	static const char *const names[] = {
		[PTL_TIMING_NONE] = "none",
		[PTL_TIMING_TSC] = "tsc",
		[PTL_TIMING_MTC] = "mtc",
		[PTL_TIMING_CYC] = "cyc",
	};

	return timing < sizeof(names) / sizeof(names[0]) ? names[timing] : "unknown";
}
