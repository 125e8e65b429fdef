/* SPDX-License-Identifier: BSD-2-Clause */
/* Trace time from timing packets: TSC, TMA, MTC, CYC, CBR. */
#ifndef FLOW_SEGMENT_CLOCK_H
#define FLOW_SEGMENT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <ptl/pt.h>
#include <ptl/trace.h>

/*
 * State of the clock. TSC and TMA together give an exact pair of TSC and crystal clock. MTC advances the crystal clock.
 * CYC counts core cycles since the last TSC, TMA or MTC; CBR gives the ratio to convert cycles to TSC ticks. SDM,
 * "Intel Processor Trace", section "Decoding Time".
 */
struct flow_clock {
	const struct ptl_machine *machine;
	uint64_t lowest;   /* lowest TSC that a TSC packet can mean */
	uint64_t tsc;      /* TSC at the last TSC or CBR packet, or an estimate from MTC */
	uint64_t base;     /* TSC at the last TMA, from which `crystals` counts */
	uint64_t crystals; /* crystal clocks since base */
	uint64_t cycles;   /* core cycles since tsc */
	uint64_t counted;  /* core cycles of all CYC packets so far */
	uint32_t ctc;      /* last crystal clock, with the bits that MTC packets have */
	uint8_t ratio;     /* core-to-bus ratio of the last CBR; 0 unknown */
	bool has_tsc;
	bool has_ctc;
	bool ahead; /* `crystals` has advanced since `tsc` was computed */
};

void flow_clock_start(struct flow_clock *clock, const struct ptl_machine *machine);
/* Updates the clock by any packet. Packets without time change nothing. */
void flow_clock_packet(struct flow_clock *clock, const struct ptl_pt_packet *packet);
/*
 * Fast update for many MTC packets in a row. The caller must call flow_clock_settle before any other use of the clock.
 */
static inline void flow_clock_mtc(struct flow_clock *clock, uint8_t mtc)
{
	const unsigned shift = clock->machine->mtc_frequency & 15;
	const uint32_t ctc = (uint32_t)mtc << shift;
	uint32_t mask = (0x100u << shift) - 1;

	if (!clock->has_ctc)
		return;
	/* TMA has 16 bits of the crystal clock. At first, fewer bits than MTC's may be comparable. */
	if (!clock->crystals && mask > 0xffff)
		mask = 0xffff;
	clock->crystals += (ctc - clock->ctc) & mask;
	clock->ctc = ctc;
	clock->ahead = true;
}
void flow_clock_settle(struct flow_clock *clock);
/*
 * Returns the nanoseconds of trace time until the next timing packet: MTC's period, if the machine has MTC packets and
 * the period is known. UINT32_MAX: unknown.
 */
uint32_t flow_clock_period(const struct ptl_machine *machine);
/* Returns the current trace time; 0 unknown. */
uint64_t flow_clock_time(const struct flow_clock *clock);

#endif
