/* SPDX-License-Identifier: BSD-2-Clause */
/* Trace time from timing packets: TSC, TMA, MTC, CYC, CBR. */
#ifndef FLOW_SEGMENT_CLOCK_H
#define FLOW_SEGMENT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <ptl/pt.h>
#include <ptl/trace.h>

/*
 * TSC and TMA give an exact pair of TSC and crystal clock; an MTC moves the crystal clock on; CYC counts core
 * cycles since the last of them, which CBR turns into TSC ticks. SDM, "Intel Processor Trace", section
 * "Decoding Time".
 */
struct flow_clock {
	const struct ptl_machine *machine;
	uint64_t lowest;   /* TSC that a TSC packet may mean */
	uint64_t tsc;      /* at the last packet that tells it, estimates by MTC included */
	uint64_t base;     /* TSC when the crystal clock was `ctc` */
	uint64_t crystals; /* crystal clocks since base */
	uint64_t cycles;   /* core cycles since tsc */
	uint32_t ctc;      /* the last one, as many bits as MTC tells */
	uint8_t ratio;     /* CBR; 0 unknown */
	bool has_tsc;
	bool has_ctc;
	bool ahead; /* crystals are more than tsc tells */
};

void flow_clock_start(struct flow_clock *clock, const struct ptl_machine *machine);
/* Takes any packet; those that tell no time change nothing. */
void flow_clock_packet(struct flow_clock *clock, const struct ptl_pt_packet *packet);
/* The work of many MTC packets in a row: the time is only worked out when they are settled, before anything else is done. */
static inline void flow_clock_mtc(struct flow_clock *clock, uint8_t mtc)
{
	const unsigned shift = clock->machine->mtc_frequency & 15;
	const uint32_t ctc = (uint32_t)mtc << shift;
	uint32_t mask = (0x100u << shift) - 1;

	if (!clock->has_ctc)
		return;
	/* TMA has 16 bits of the crystal clock, so fewer than all bits of MTC may be comparable at first. */
	if (!clock->crystals && mask > 0xffff)
		mask = 0xffff;
	clock->crystals += (ctc - clock->ctc) & mask;
	clock->ctc = ctc;
	clock->ahead = true;
}
void flow_clock_settle(struct flow_clock *clock);
/*
 * Nanoseconds of trace time in which another timing packet comes: MTC's period, if the machine says that there are MTC
 * packets and how long it is. UINT32_MAX: not known.
 */
uint32_t flow_clock_period(const struct ptl_machine *machine);
/* The trace time now; 0 unknown. */
uint64_t flow_clock_time(const struct flow_clock *clock);

#endif
