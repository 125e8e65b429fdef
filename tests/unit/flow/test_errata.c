/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the table of errata against libipt's, and how damaged packets are read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <intel-pt.h>

#include "flow/segment/errata.h"

static struct flow_errata errata_of(unsigned family, unsigned model)
{
	const struct ptl_machine machine = {
		.vendor = PTL_VENDOR_INTEL, .family = (uint16_t)family, .model = (uint8_t)model};

	return flow_errata_of(&machine);
}

/*
 * The table contains the errata that the installed (possibly older) libipt lists for a CPU, and no others for that CPU.
 */
static void libipt_knows_no_others(void **state)
{
	unsigned known = 0;

	(void)state;
	for (unsigned i = 0; i < 0x20 * 256; i++) {
		const struct pt_cpu cpu = {.vendor = pcv_intel, .family = (uint16_t)(i >> 8), .model = (uint8_t)i};
		const struct flow_errata ours = errata_of(i >> 8, i & 0xff);
		struct pt_errata theirs = {0};

		if (pt_cpu_errata(&theirs, &cpu) < 0)
			continue;
		known++;
		assert_int_equal(ours.bdm64, theirs.bdm64);
		assert_int_equal(ours.skd007, theirs.skd007);
		assert_int_equal(ours.skd010, theirs.skd010);
		assert_int_equal(ours.skd022, theirs.skd022);
		assert_int_equal(ours.skl168, theirs.skl168);
		assert_int_equal(ours.apl11, theirs.apl11);
		assert_int_equal(ours.apl12, theirs.apl12);
		assert_int_equal(ours.skz84, theirs.skz84);
	}
	assert_true(known >= 20);
}

/* CPUs unknown to libipt 2.0.5. */
static void newer_cpus(void **state)
{
	static const uint16_t servers[] = {0x6ad, 0x6ae, 0x6cf, 0x1301};
	static const uint16_t hybrids[] = {0x6aa, 0x6ac, 0x6b5, 0x6b7, 0x6ba,  0x6bd, 0x6c5,
					   0x6c6, 0x6cc, 0x6d5, 0x6d7, 0x1201, 0x1203};
	static const uint16_t small[] = {0x6af, 0x6b6, 0x6be, 0x6dd};

	(void)state;
	for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++)
		assert_true(errata_of(servers[i] >> 8, servers[i] & 0xff).skz84);
	for (size_t i = 0; i < sizeof(hybrids) / sizeof(hybrids[0]); i++) {
		assert_true(errata_of(hybrids[i] >> 8, hybrids[i] & 0xff).skd022);
		assert_true(errata_of(hybrids[i] >> 8, hybrids[i] & 0xff).apl11);
	}
	for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++) {
		assert_true(errata_of(6, small[i] & 0xff).apl11);
		assert_false(errata_of(6, small[i] & 0xff).skd022);
	}
}

static void no_cpu_no_errata(void **state)
{
	const struct flow_errata none = {0};
	const struct ptl_machine machines[] = {
		{.vendor = PTL_VENDOR_INTEL, .family = 6, .model = 0x0f},
		{.vendor = PTL_VENDOR_INTEL, .family = 6},
		{.vendor = PTL_VENDOR_INTEL, .family = 7, .model = 0x4e},
		{.vendor = PTL_VENDOR_INTEL, .family = 6, .model = 0x4e, .software = true},
		{.family = 6, .model = 0x4e},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		const struct flow_errata errata = flow_errata_of(&machines[i]);

		assert_memory_equal(&errata, &none, sizeof(none));
	}
}

static void check_read(struct flow_errata errata, const char *bytes, size_t left, int size, unsigned kind)
{
	struct ptl_pt_context context = {0};
	struct ptl_pt_packet packet;

	assert_int_equal(flow_errata_read(&errata, (const uint8_t *)bytes, left, &context, &packet), size);
	if (size > 0)
		assert_int_equal(packet.kind, kind);
}

static void damaged_packets(void **state)
{
	const struct flow_errata none = {0}, cyc = {.skd007 = true}, tma = {.skz84 = true};

	(void)state;
	/*
	 * A CYC whose bytes after the first are overwritten by an OVF; the same bytes on a CPU without the erratum; a
	 * complete CYC.
	 */
	check_read(cyc, "\x07\x02\xf3", 3, 1, PTL_PT_PAD);
	check_read(none, "\x07\x02\xf3", 3, 2, PTL_PT_CYC);
	check_read(cyc, "\x07\x02", 2, 2, PTL_PT_CYC);
	check_read(cyc, "\x07\x04\xf3", 3, 2, PTL_PT_CYC);
	/*
	 * A TMA with reserved bits and an extra byte; the same on a CPU without the erratum; a valid TMA; a truncated
	 * TMA.
	 */
	check_read(tma, "\x02\x73\x11\x22\0\0\xff\x99", 8, 8, PTL_PT_PAD);
	check_read(none, "\x02\x73\x11\x22\0\0\xff\x99", 8, PTL_CORRUPT, 0);
	check_read(tma, "\x02\x73\x11\x22\0\x33\x01\x99", 8, 7, PTL_PT_TMA);
	check_read(tma, "\x02\x73\x11\x22", 4, PTL_TRUNCATED, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(libipt_knows_no_others),
		cmocka_unit_test(newer_cpus),
		cmocka_unit_test(no_cpu_no_errata),
		cmocka_unit_test(damaged_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
