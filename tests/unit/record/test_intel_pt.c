/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the driver's data in sysfs, requests of terms, and address filters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <ptl/error.h>

#include "common/text/string_list.h"
#include "record/intel_pt/config.h"
#include "record/intel_pt/device.h"
#include "record/intel_pt/filter.h"

static char folder[64];

static void put(const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* Makes the sysfs files of a Broadwell CPU; tests change them. */
static int set_up(void **state)
{
	char path[128];

	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/ptl-unit-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/caps", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/format", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	put("type", "8\n");
	put("nr_addr_filters", "2\n");
	put("tsc_art_ratio", "176:2\n");
	put("max_nonturbo_ratio", "21\n");
	put("caps/psb_cyc", "1\n");
	put("caps/psb_periods", "3f\n");
	put("caps/cycle_thresholds", "1fff\n");
	put("caps/mtc", "1\n");
	put("caps/mtc_periods", "249\n");
	put("caps/ip_filtering", "1\n");
	put("caps/ptwrite", "0\n");
	put("format/tsc", "config:10\n");
	put("format/noretcomp", "config:11\n");
	put("format/mtc", "config:9\n");
	put("format/mtc_period", "config:14-17\n");
	put("format/cyc", "config:1\n");
	put("format/cyc_thresh", "config:19-22\n");
	put("format/psb_period", "config:24-27\n");
	put("format/ptw", "config:12\n");
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

static struct intel_pt_device read_device(void)
{
	struct intel_pt_device device;

	assert_int_equal(intel_pt_device_read(folder, &device), 0);
	return device;
}

static struct record_settings settings_of(const char *terms)
{
	return (struct record_settings){
		.timing = PTL_TIMING_MTC, .return_compression = true, .psb_period = 16u << 10, .pt.terms = terms};
}

static void test_reads_what_the_driver_shows(void **state)
{
	const struct intel_pt_device device = read_device();

	(void)state;
	assert_int_equal(device.type, 8);
	assert_int_equal(device.filters_max, 2);
	assert_int_equal(device.nominal_ratio, 21);
	assert_int_equal(device.ctc_numerator, 176);
	assert_int_equal(device.ctc_denominator, 2);
	assert_int_equal(device.caps[INTEL_PT_CAP_MTC_PERIODS], 0x249);
	assert_int_equal(device.fields[INTEL_PT_MTC_PERIOD], 0xf << 14);
	assert_int_equal(device.fields[INTEL_PT_BRANCH], 0);
}

static void test_text_that_is_no_number_counts_as_not_there(void **state)
{
	struct intel_pt_device device;

	(void)state;
	put("caps/mtc", "-1\n");
	put("caps/psb_cyc", "yes\n");
	put("caps/mtc_periods", "11111111111111111\n");
	put("nr_addr_filters", "99999999999\n");
	put("tsc_art_ratio", "1:0\n");
	put("format/mtc", "config:64\n");
	put("format/cyc", "config:9-3\n");
	put("format/ptw", "config1:3\n");
	put("format/noretcomp", "config:1-2-3\n");
	device = read_device();
	assert_int_equal(device.caps[INTEL_PT_CAP_MTC], 0);
	assert_int_equal(device.caps[INTEL_PT_CAP_PSB_CYC], 0);
	assert_int_equal(device.caps[INTEL_PT_CAP_MTC_PERIODS], 0);
	assert_int_equal(device.filters_max, 0);
	assert_int_equal(device.ctc_denominator, 0);
	assert_int_equal(device.fields[INTEL_PT_MTC], 0);
	assert_int_equal(device.fields[INTEL_PT_CYC], 0);
	assert_int_equal(device.fields[INTEL_PT_PTW], 0);
	assert_int_equal(device.fields[INTEL_PT_NORETCOMP], 0);
	put("type", "-3\n");
	assert_int_equal(intel_pt_device_read(folder, &device), PTL_CORRUPT);
	put("type", "");
	assert_int_equal(intel_pt_device_read(folder, &device), PTL_SYSTEM);
	put("type", "8\n");
	put("format/tsc", "config:\n");
	assert_int_equal(intel_pt_device_read(folder, &device), PTL_CORRUPT);
}

static void test_options_become_bits(void **state)
{
	static const struct {
		const char *terms;
		uint64_t word;
	} cases[] = {
		{NULL, 1u << 10 | 1u << 9 | 3u << 14 | 3u << 24},
		{"mtc=0", 1u << 10 | 3u << 24},
		{"mtc_period=6,psb_period=0", 1u << 10 | 1u << 9 | 6u << 14},
		{"cyc,cyc_thresh=4", 1u << 1 | 4u << 19 | 1u << 10 | 1u << 9 | 3u << 14 | 3u << 24},
		{"tsc=0,mtc=0,noretcomp", 1u << 11 | 3u << 24},
	};
	const struct intel_pt_device device = read_device();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct record_settings settings = settings_of(cases[i].terms);
		struct intel_pt_config config;

		assert_int_equal(intel_pt_configure(&device, &settings, &config), 0);
		assert_int_equal(config.word, cases[i].word);
	}
}

static void test_refuses_what_the_cpu_cannot_do(void **state)
{
	static const struct {
		const char *terms;
		int status;
		const char *text;
	} cases[] = {
		{"ptw", PTL_UNSUPPORTED, "no ptw; it has tsc, noretcomp, psb_period, mtc, mtc_period, cyc, cyc_thresh"},
		{"branch=0", PTL_UNSUPPORTED, "no branch"},
		{"mtc_period=4", PTL_UNSUPPORTED, "mtc_period=4: this CPU takes 0, 3, 6, 9"},
		{"psb_period=6", PTL_UNSUPPORTED, "psb_period=6: this CPU takes 0, 1, 2, 3, 4, 5"},
		{"cyc,cyc_thresh=16", PTL_UNSUPPORTED, "cyc_thresh=16: this CPU takes"},
		{"cyc,cyc_thresh=18446744073709551615", PTL_UNSUPPORTED, "this CPU takes"},
		{"cycles", PTL_MISUSE, "\"cycles\" is no term"},
		{"cyc=x", PTL_MISUSE, "cyc"},
		{"mtc=0,mtc_period=6", PTL_MISUSE, "needs mtc"},
		{"cyc_thresh=6", PTL_MISUSE, "needs cyc"},
		{"", PTL_MISUSE, "\"\" is no term"},
	};
	const struct intel_pt_device device = read_device();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct record_settings settings = settings_of(cases[i].terms);
		struct intel_pt_config config;

		assert_int_equal(intel_pt_configure(&device, &settings, &config), cases[i].status);
		assert_non_null(strstr(ptl_error_text(), cases[i].text));
	}
}

static void test_a_cpu_without_mtc_has_none_unless_asked(void **state)
{
	struct record_settings settings = settings_of(NULL);
	struct intel_pt_config config;
	struct intel_pt_device device;

	(void)state;
	put("caps/mtc", "0\n");
	device = read_device();
	assert_int_equal(intel_pt_configure(&device, &settings, &config), 0);
	assert_int_equal(config.word, 1u << 10 | 3u << 24);
	settings.timing_given = true;
	assert_int_equal(intel_pt_configure(&device, &settings, &config), PTL_UNSUPPORTED);
}

/* Uses functions of this program. */
static void test_filters_become_offsets(void **state)
{
	static const struct {
		const char *text; /* %s: this program */
		int status;
		const char *result; /* the kernel's filter text, or the error */
	} cases[] = {
		{"filter main @ %s", 0, "filter 0x"},
		{"stop main@%s", 0, "stop 0x"},
		{"filter 0x10 / 0x20 @ %s", 0, "filter 0x10/0x20@/"},
		{"filter * @ %s", 0, "filter 0x0/0x"},
		{"filter main / main @ %s", 0, "filter 0x"},
		{"start main @ %s", PTL_UNSUPPORTED, "cannot begin"},
		{"filter nobody_is_called_so @ %s", PTL_NOT_FOUND, "there is no function nobody_is_called_so"},
		{"filter 0x10 @ %s", PTL_MISUSE, "empty"},
		{"filter 0xffffffffffffffff / 2 @ %s", PTL_MISUSE, "empty"},
		{"filter 0xfffffffffff / 2 @ %s", PTL_MISUSE, "not in the file"},
		{"begin main @ %s", PTL_MISUSE, "begin"},
		{"filter main", PTL_MISUSE, "expected"},
		{"filter @ %s", PTL_MISUSE, "expected"},
		{"filter main @ /nowhere/at all", PTL_SYSTEM, "/nowhere"},
	};
	const struct intel_pt_device device = read_device();
	char own[4096], text[5000], *filter;

	(void)state;
	own[readlink("/proc/self/exe", own, sizeof(own) - 1)] = 0;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct record_pt_settings settings = {0};
		const char *at = strchr(cases[i].text, '%');
		int status;

		snprintf(text, sizeof(text), "%.*s%s", at ? (int)(at - cases[i].text) : 1000, cases[i].text,
			 at ? own : "");
		assert_int_equal(common_string_list_add(&settings.filters, text), 0);
		status = intel_pt_filter_make(&device, &settings, &filter);
		common_string_list_free(&settings.filters);
		/* The kernel refuses blanks and commas in a path, in case the build folder has them. */
		if (cases[i].status != PTL_SYSTEM && at && strpbrk(own, " ,") && status == PTL_UNSUPPORTED)
			continue;
		if (status != cases[i].status)
			print_error("%s: %s\n", text, ptl_error_text());
		assert_int_equal(status, cases[i].status);
		assert_non_null(strstr(status == 0 ? filter : ptl_error_text(), cases[i].result));
		free(filter);
	}
}

static void test_more_filters_than_the_cpu_has(void **state)
{
	struct record_pt_settings settings = {0};
	struct intel_pt_device device = read_device();
	char *filter;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(common_string_list_add(&settings.filters, "filter main @ prog"), 0);
	assert_int_equal(intel_pt_filter_make(&device, &settings, &filter), PTL_UNSUPPORTED);
	assert_non_null(strstr(ptl_error_text(), "3 address filters: this CPU has 2"));
	device.caps[INTEL_PT_CAP_IP_FILTERING] = 0;
	assert_int_equal(intel_pt_filter_make(&device, &settings, &filter), PTL_UNSUPPORTED);
	common_string_list_free(&settings.filters);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_reads_what_the_driver_shows, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_text_that_is_no_number_counts_as_not_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_options_become_bits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_refuses_what_the_cpu_cannot_do, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_cpu_without_mtc_has_none_unless_asked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_filters_become_offsets, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_more_filters_than_the_cpu_has, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
