/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads small files of sysfs. The texts are untrusted: invalid texts count as missing. */
#include "record/intel_pt/device.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"

#define TEXT_MAX 128
#define FILTERS_MAX 64

static const char *const caps[INTEL_PT_CAPS] = {
	[INTEL_PT_CAP_PSB_CYC] = "psb_cyc",
	[INTEL_PT_CAP_PSB_PERIODS] = "psb_periods",
	[INTEL_PT_CAP_CYCLE_THRESHOLDS] = "cycle_thresholds",
	[INTEL_PT_CAP_MTC] = "mtc",
	[INTEL_PT_CAP_MTC_PERIODS] = "mtc_periods",
	[INTEL_PT_CAP_IP_FILTERING] = "ip_filtering",
	[INTEL_PT_CAP_PTWRITE] = "ptwrite",
	[INTEL_PT_CAP_POWER_EVENTS] = "power_event_trace",
	[INTEL_PT_CAP_EVENT_TRACE] = "event_trace",
	[INTEL_PT_CAP_TNT_DISABLE] = "tnt_disable",
};

static const char *const terms[INTEL_PT_TERMS] = {
	[INTEL_PT_PT] = "pt",
	[INTEL_PT_BRANCH] = "branch",
	[INTEL_PT_TSC] = "tsc",
	[INTEL_PT_NORETCOMP] = "noretcomp",
	[INTEL_PT_PSB_PERIOD] = "psb_period",
	[INTEL_PT_MTC] = "mtc",
	[INTEL_PT_MTC_PERIOD] = "mtc_period",
	[INTEL_PT_CYC] = "cyc",
	[INTEL_PT_CYC_THRESH] = "cyc_thresh",
	[INTEL_PT_PTW] = "ptw",
	[INTEL_PT_FUP_ON_PTW] = "fup_on_ptw",
	[INTEL_PT_PWR_EVT] = "pwr_evt",
	[INTEL_PT_EVENT] = "event",
	[INTEL_PT_NOTNT] = "notnt",
};

const char *intel_pt_term_name(enum intel_pt_term term)
{
	return terms[term];
}

/* Reads the file's text without the newline. Returns false if the file is missing or long. */
static bool read_text(const char *folder, const char *name, char text[TEXT_MAX])
{
	char path[512];
	ssize_t size;
	int fd;

	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	size = read(fd, text, TEXT_MAX);
	close(fd);
	if (size <= 0 || size == TEXT_MAX)
		return false;
	text[size] = 0;
	text[strcspn(text, "\n")] = 0;
	return true;
}

/* Parses digits without a sign. */
static bool read_number(const char *folder, const char *name, int base, uint64_t most, uint64_t *value)
{
	char text[TEXT_MAX], *end;

	if (!read_text(folder, name, text) || strspn(text, "0123456789abcdefABCDEF") != strlen(text) || !*text)
		return false;
	errno = 0;
	*value = strtoull(text, &end, base);
	return !*end && !errno && *value <= most;
}

/* Parses "config:9" or "config:14-17" into a mask. */
static uint64_t read_field(const char *folder, enum intel_pt_term term)
{
	char name[64], text[TEXT_MAX], more;
	unsigned first, last;
	int found;

	snprintf(name, sizeof(name), "format/%s", terms[term]);
	if (!read_text(folder, name, text))
		return 0;
	found = sscanf(text, "config:%2u-%2u%c", &first, &last, &more);
	if (found == 1 && !strchr(text, '-'))
		last = first;
	else if (found != 2)
		return 0;
	if (first > last || last > 63)
		return 0;
	return (last - first == 63 ? UINT64_MAX : (1ull << (last - first + 1)) - 1) << first;
}

/* Parses "2:1", TSC ticks to ticks of the crystal clock. */
static void read_ratio(const char *folder, struct intel_pt_device *device)
{
	char text[TEXT_MAX], more;
	unsigned numerator, denominator;

	if (!read_text(folder, "tsc_art_ratio", text) ||
	    sscanf(text, "%9u:%9u%c", &numerator, &denominator, &more) != 2 || !numerator || !denominator)
		return;
	device->ctc_numerator = numerator;
	device->ctc_denominator = denominator;
}

int intel_pt_device_read(const char *folder, struct intel_pt_device *device)
{
	char name[64], text[TEXT_MAX];
	uint64_t value;

	*device = (struct intel_pt_device){0};
	if (!read_text(folder, "type", text))
		return common_fail_errno("%s/type", folder);
	if (!read_number(folder, "type", 10, INT32_MAX, &value))
		return common_fail(PTL_CORRUPT, "%s/type: \"%s\" is no type of events", folder, text);
	device->type = (uint32_t)value;
	if (read_number(folder, "nr_addr_filters", 10, FILTERS_MAX, &value))
		device->filters_max = (uint32_t)value;
	if (read_number(folder, "max_nonturbo_ratio", 10, UINT8_MAX, &value))
		device->nominal_ratio = (uint8_t)value;
	read_ratio(folder, device);
	for (unsigned i = 0; i < INTEL_PT_CAPS; i++) {
		snprintf(name, sizeof(name), "caps/%s", caps[i]);
		if (read_number(folder, name, 16, UINT64_MAX, &value))
			device->caps[i] = value;
	}
	for (unsigned i = 0; i < INTEL_PT_TERMS; i++)
		device->fields[i] = read_field(folder, (enum intel_pt_term)i);
	if (!device->fields[INTEL_PT_TSC])
		return common_fail(PTL_CORRUPT, "%s/format/tsc does not say which bit asks for TSC packets", folder);
	return 0;
}
