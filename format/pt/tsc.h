/* SPDX-License-Identifier: BSD-2-Clause */
/* Extends the 56 bits of a TSC packet to the whole TSC, and converts a TSC to trace time. */
#ifndef FORMAT_PT_TSC_H
#define FORMAT_PT_TSC_H

#include <stdint.h>

#include <ptl/trace.h>

#define FORMAT_TSC_RANGE (1ull << 56) /* a TSC packet holds the TSC modulo this value */

/*
 * Returns the lowest TSC that a packet of the machine can mean. Packets mean a TSC from this value up to
 * FORMAT_TSC_RANGE above: a quarter of the range lies before the start of the capture, three quarters lie after. 0 if
 * the TSC at the start is small or unknown.
 */
static inline uint64_t format_tsc_lowest(const struct ptl_machine *machine)
{
	const uint64_t before = FORMAT_TSC_RANGE / 4, elapsed = machine->start_time - machine->tsc_zero;
	__uint128_t start;

	if (!machine->start_time || !machine->tsc_multiplier || elapsed > INT64_MAX)
		return 0;
	start = ((__uint128_t)elapsed << (machine->tsc_shift & 63)) / machine->tsc_multiplier;
	return start > before && start <= UINT64_MAX - FORMAT_TSC_RANGE ? (uint64_t)start - before : 0;
}

/* Returns the whole TSC of a TSC packet. lowest: result of format_tsc_lowest. */
static inline uint64_t format_tsc_extend(uint64_t lowest, uint64_t tsc)
{
	return lowest + ((tsc - lowest) & (FORMAT_TSC_RANGE - 1));
}

/* Returns the trace time of a whole TSC; 0 if the machine's TSC conversion is unknown. */
static inline uint64_t format_tsc_time(const struct ptl_machine *machine, uint64_t tsc)
{
	if (!machine->tsc_multiplier)
		return 0;
	return machine->tsc_zero + (uint64_t)((__uint128_t)tsc * machine->tsc_multiplier >> (machine->tsc_shift & 63));
}

#endif
