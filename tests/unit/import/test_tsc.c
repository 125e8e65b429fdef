/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the trace time from timing packets if the TSC has more than 56 bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ptl/error.h>
#include <ptl/pt.h>

#include "flow/segment/clock.h"
#include "format/pt/tsc.h"
#include "import/psbs.h"

#define MASK (FORMAT_TSC_RANGE - 1)

/* 2 GHz: a TSC tick is half a nanosecond. */
static struct ptl_machine machine_at(uint64_t tsc)
{
	return (struct ptl_machine){
		.tsc_multiplier = 1,
		.tsc_shift = 1,
		.tsc_zero = 1000,
		.start_time = 1000 + tsc / 2,
		.ctc_numerator = 80,
		.ctc_denominator = 1,
	};
}

static void put(struct flow_clock *clock, struct ptl_pt_packet packet)
{
	flow_clock_packet(clock, &packet);
}

static uint64_t time_of(const struct ptl_machine *machine, uint64_t tsc)
{
	struct flow_clock clock;

	flow_clock_start(&clock, machine);
	put(&clock, (struct ptl_pt_packet){.kind = PTL_PT_TSC, .tsc = {tsc & MASK}});
	return flow_clock_time(&clock);
}

static void tsc_is_extended(void **state)
{
	static const uint64_t starts[] = {1u << 30, MASK, FORMAT_TSC_RANGE, FORMAT_TSC_RANGE + 77,
					  200 * FORMAT_TSC_RANGE - 2};

	(void)state;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		const struct ptl_machine machine = machine_at(starts[i]);

		/* Rings may hold packets from before the start of the capture. */
		assert_int_equal(time_of(&machine, starts[i] - (1u << 20)), 1000 + (starts[i] - (1u << 20)) / 2);
		assert_int_equal(time_of(&machine, starts[i]), 1000 + starts[i] / 2);
		assert_int_equal(time_of(&machine, starts[i] + (1ull << 55)), 1000 + (starts[i] + (1ull << 55)) / 2);
	}
}

/* Without a start, or with a start before the TSC's, the capture does not tell upper bits. */
static void unknown_start(void **state)
{
	struct ptl_machine machine = machine_at(3 * FORMAT_TSC_RANGE);

	(void)state;
	machine.start_time = 0;
	assert_int_equal(time_of(&machine, 3 * FORMAT_TSC_RANGE + 4000), 3000);
	machine.start_time = 10;
	assert_int_equal(time_of(&machine, 3 * FORMAT_TSC_RANGE + 4000), 3000);
	machine.tsc_multiplier = 0;
	assert_int_equal(format_tsc_lowest(&machine), 0);
	assert_int_equal(time_of(&machine, 4000), 0);
}

/* The kernel's clock may have started long after the TSC. */
static void clock_behind_tsc(void **state)
{
	struct ptl_machine machine = machine_at(0);

	(void)state;
	machine.tsc_zero = -FORMAT_TSC_RANGE;
	machine.start_time = 500;
	assert_int_equal(time_of(&machine, 2 * FORMAT_TSC_RANGE + 1200), 600);
}

static void mtc_carries(void **state)
{
	const uint64_t start = 5 * FORMAT_TSC_RANGE - 100;
	const struct ptl_machine machine = machine_at(start);
	struct flow_clock clock;

	(void)state;
	flow_clock_start(&clock, &machine);
	put(&clock, (struct ptl_pt_packet){.kind = PTL_PT_TSC, .tsc = {start & MASK}});
	put(&clock, (struct ptl_pt_packet){.kind = PTL_PT_TMA, .tma = {.ctc = 10, .fast = 0}});
	for (unsigned ctc = 11; ctc < 14; ctc++) {
		put(&clock, (struct ptl_pt_packet){.kind = PTL_PT_MTC, .mtc = {(uint8_t)ctc}});
		assert_int_equal(flow_clock_time(&clock), 1000 + (start + (ctc - 10) * 80) / 2);
	}
	put(&clock, (struct ptl_pt_packet){.kind = PTL_PT_TSC, .tsc = {(start + 300) & MASK}});
	assert_int_equal(flow_clock_time(&clock), 1000 + (start + 300) / 2);
}

/* Recorders and importers put the time of a PSB into the index. */
static void psb_is_extended(void **state)
{
	const uint64_t start = 7 * FORMAT_TSC_RANGE - 2;
	const struct ptl_machine machine = machine_at(start);
	uint8_t bytes[64];
	bool host = false;
	const struct import_psb_clock clock = {.machine = &machine, .host = &host};

	(void)state;
	for (uint64_t tsc = start; tsc < start + 6; tsc += 2) {
		const struct ptl_pt_packet packets[] = {
			{.kind = PTL_PT_PSB}, {.kind = PTL_PT_TSC, .tsc = {tsc & MASK}}, {.kind = PTL_PT_PSBEND}};
		struct import_psb_past past = {0};
		size_t size = 0;

		for (size_t i = 0; i < 3; i++) {
			const int used = ptl_pt_encode(&packets[i], bytes + size, sizeof(bytes) - size);

			assert_true(used > 0);
			size += (size_t)used;
		}
		assert_int_equal(import_psb_time(&clock, &past, bytes, size), 1000 + tsc / 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tsc_is_extended),  cmocka_unit_test(unknown_start),
		cmocka_unit_test(clock_behind_tsc), cmocka_unit_test(mtc_carries),
		cmocka_unit_test(psb_is_extended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
