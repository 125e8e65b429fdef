/* SPDX-License-Identifier: BSD-2-Clause */
/* Trace time from timing packets. */
#include "flow/segment/clock.h"

#include "format/pt/tsc.h"

void flow_clock_start(struct flow_clock *clock, const struct ptl_machine *machine)
{
	*clock = (struct flow_clock){.machine = machine, .lowest = format_tsc_lowest(machine)};
}

static void take_tsc(struct flow_clock *clock, uint64_t tsc)
{
	clock->tsc = format_tsc_extend(clock->lowest, tsc);
	clock->cycles = 0;
	clock->has_tsc = true;
	clock->has_ctc = false;
}

/* Sets the crystal clock to `ctc` at the TSC of the last TSC packet minus `fast`. */
static void take_tma(struct flow_clock *clock, uint16_t ctc, uint16_t fast)
{
	if (!clock->has_tsc || !clock->machine->ctc_denominator)
		return;
	clock->base = clock->tsc - fast;
	clock->crystals = 0;
	clock->ctc = ctc;
	clock->has_ctc = true;
}

/*
 * Returns value * numerator / denominator. MTC packets are frequent, so the 128-bit division is used only for large
 * values.
 */
static uint64_t scale(uint64_t value, uint32_t numerator, uint32_t denominator)
{
	if (value <= UINT32_MAX)
		return value * numerator / denominator;
	return (uint64_t)((__uint128_t)value * numerator / denominator);
}

void flow_clock_settle(struct flow_clock *clock)
{
	if (!clock->ahead)
		return;
	clock->ahead = false;
	clock->tsc = clock->base +
		     scale(clock->crystals, clock->machine->ctc_numerator, clock->machine->ctc_denominator);
	clock->cycles = 0;
}

void flow_clock_packet(struct flow_clock *clock, const struct ptl_pt_packet *packet)
{
	switch (packet->kind) {
	case PTL_PT_TSC:
		take_tsc(clock, packet->tsc.tsc);
		break;
	case PTL_PT_TMA:
		take_tma(clock, packet->tma.ctc, packet->tma.fast);
		break;
	case PTL_PT_MTC:
		flow_clock_mtc(clock, packet->mtc.ctc);
		flow_clock_settle(clock);
		break;
	case PTL_PT_CYC:
		clock->cycles += packet->cyc.cycles;
		clock->counted += packet->cyc.cycles;
		break;
	case PTL_PT_CBR:
		/* The cycles so far passed at the old ratio. */
		if (clock->ratio && clock->cycles) {
			clock->tsc += clock->cycles * clock->machine->nominal_ratio / clock->ratio;
			clock->cycles = 0;
		}
		clock->ratio = packet->cbr.ratio;
		break;
	default:
		break;
	}
}

uint64_t flow_clock_time(const struct flow_clock *clock)
{
	const struct ptl_machine *machine = clock->machine;
	uint64_t tsc = clock->tsc;

	if (!clock->has_tsc || !machine->tsc_multiplier)
		return 0;
	if (clock->cycles && clock->ratio && machine->nominal_ratio)
		tsc += (uint64_t)((__uint128_t)clock->cycles * machine->nominal_ratio / clock->ratio);
	return format_tsc_time(machine, tsc);
}

uint32_t flow_clock_period(const struct ptl_machine *machine)
{
	__uint128_t period;

	if (machine->timing != PTL_TIMING_MTC || !machine->ctc_denominator || !machine->ctc_numerator ||
	    !machine->tsc_multiplier)
		return UINT32_MAX;
	period = (__uint128_t)machine->ctc_numerator << (machine->mtc_frequency & 15);
	period = (period / machine->ctc_denominator + 1) * machine->tsc_multiplier;
	period = (period >> (machine->tsc_shift & 63)) + 1;
	return period < UINT32_MAX ? (uint32_t)period : UINT32_MAX;
}
