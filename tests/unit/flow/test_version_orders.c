/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code changes between two timing packets. For every position of the timing packet behind the change, all engines
 * choose the same version for the same instruction. docs/engine.md has the rule.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "format/pt/encode.h"
#include "tests/unit/dump_seen.h"

#define PID 7
#define LOOP 0x400000ull
#define PERIOD 1000u /* between timing packets */

/* Two versions of eight bytes; JZ back to them; JMP RAX; SYSCALL. */
static const uint8_t versions[][14] = {
	{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x74, 0xf6, 0xff, 0xe0, 0x0f, 0x05},
	{0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00, 0x74, 0xf6, 0xff, 0xe0, 0x0f, 0x05},
};

enum item { TAKEN, TAKEN_TWICE, LEFT, JUMP, JUMP_OUT, INTERRUPT_FROM, INTERRUPT_TO, LEAVE, ENTER };

static const enum item walk[] = {ENTER,        TAKEN, TAKEN_TWICE, LEFT, JUMP,     TAKEN, INTERRUPT_FROM,
				 INTERRUPT_TO, LEFT,  JUMP,        LEFT, JUMP_OUT, LEAVE, ENTER,
				 TAKEN,        LEFT,  JUMP,        LEFT, JUMP_OUT, LEAVE};
#define WALK (sizeof(walk) / sizeof(walk[0]))

static const struct flow_engine_class *const engines[] = {&flow_engine_native, &flow_engine_libipt,
							  &flow_engine_libipt_insn};

static size_t put_item(uint8_t *pt, enum item item, uint64_t *last_ip)
{
	switch (item) {
	case TAKEN:
		return format_pt_put_tnt(pt, 3);
	case TAKEN_TWICE:
		return format_pt_put_tnt(pt, 7);
	case LEFT:
		return format_pt_put_tnt(pt, 2);
	case JUMP:
	case INTERRUPT_TO:
		return format_pt_put_tip(pt, last_ip, LOOP);
	case JUMP_OUT:
		return format_pt_put_tip(pt, last_ip, LOOP + 12);
	case INTERRUPT_FROM:
		return format_pt_put_fup(pt, last_ip, LOOP + 8);
	case ENTER:
		return format_pt_put_tip_pge(pt, last_ip, LOOP);
	case LEAVE:
		return format_pt_put_tip_pgd_no_ip(pt);
	}
	return 0;
}

/*
 * Writes the walk, with a TSC packet before each item whose bit is in `places`; each TSC has a time with another
 * version.
 */
static size_t put_walk(uint8_t *pt, uint32_t places)
{
	uint64_t last_ip = 0, time = PERIOD;
	size_t size = format_pt_put_psb(pt);

	size += format_pt_put_tsc(pt + size, time);
	size += format_pt_put_mode_exec(pt + size, true, false, true);
	size += format_pt_put_psbend(pt + size);
	for (size_t i = 0; i < WALK; i++) {
		if (places >> i & 1)
			size += format_pt_put_tsc(pt + size, time += PERIOD);
		size += put_item(pt + size, walk[i], &last_ip);
	}
	return size;
}

static struct ptl_trace *make_trace(uint32_t places)
{
	const struct ptl_machine machine = {
		.source = "test", .mode = 64, .clock = PTL_CLOCK_MONOTONIC, .tsc_multiplier = 1};
	struct dump_trace made;
	uint8_t pt[1024];
	const size_t size = put_walk(pt, places);
	uint32_t stream;

	dump_trace_start(&made, &machine);
	dump_trace_load(&made, 1, PID, "code", LOOP, sizeof(versions[0]), versions[0], sizeof(versions[0]));
	/* Halfway between two timing packets. */
	for (unsigned i = 1; i <= WALK; i++)
		dump_trace_code(&made, i * PERIOD + PERIOD / 2, PID, LOOP, sizeof(versions[0]), versions[i % 2],
				sizeof(versions[0]));
	stream = dump_trace_stream(&made, PID, PID);
	assert_int_equal(ptl_writer_psb(made.writer, stream, 0, PERIOD), 0);
	assert_int_equal(ptl_writer_bytes(made.writer, stream, pt, size, PERIOD), 0);
	return dump_trace_finish(&made);
}

/*
 * Computes the addresses by the rule: the last timing packet before the packet at the end of an instruction's run
 * selects its version. A run up to an interrupt ends at the TIP, not at the FUP.
 */
static size_t expect_ips(uint32_t places, uint64_t *ips)
{
	size_t count = 0;
	unsigned version = 0;

	for (size_t i = 0; i < WALK; i++) {
		const enum item item = walk[i];
		const unsigned rounds = item == TAKEN_TWICE ? 2 : item == TAKEN || item == LEFT || item == INTERRUPT_TO;

		version ^= places >> i & 1;
		for (unsigned round = 0; round < rounds; round++) {
			for (unsigned at = 0; at < 8; at += version ? 8 : 1)
				ips[count++] = LOOP + at;
			if (item != INTERRUPT_TO)
				ips[count++] = LOOP + 8;
		}
		if (item == JUMP || item == JUMP_OUT)
			ips[count++] = LOOP + 10;
		if (item == LEAVE)
			ips[count++] = LOOP + 12;
	}
	return count;
}

static unsigned check_places(uint32_t places)
{
	uint64_t ips[256];
	const size_t count = expect_ips(places, ips);
	struct ptl_trace *trace = make_trace(places);
	unsigned wrong = 0;

	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++) {
		struct seen seen;

		decode(trace, engines[i], 1, &seen);
		if (seen.ip_count != count || memcmp(seen.ips, ips, count * sizeof(*ips)) || first_gap(&seen)) {
			wrong++;
			print_message("timing packets before items %#x: %s has %zu instructions, the rule %zu\n",
				      places, engines[i]->name, seen.ip_count, count);
		}
		free_seen(&seen);
	}
	ptl_close(trace);
	return wrong;
}

static void one_change_anywhere(void **state)
{
	unsigned wrong = 0;

	(void)state;
	for (size_t i = 0; i < WALK; i++)
		wrong += check_places(1u << i);
	assert_int_equal(wrong, 0);
}

static void changes_anywhere(void **state)
{
	unsigned wrong = 0;

	(void)state;
	for (uint32_t i = 0; i < 2000 && wrong < 10; i++)
		wrong += check_places(i * 2654435761u % (1u << WALK));
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_change_anywhere),
		cmocka_unit_test(changes_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
