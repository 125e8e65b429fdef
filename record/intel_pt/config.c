/* SPDX-License-Identifier: BSD-2-Clause */
/* Terms of the configuration. perf defines the names; sysfs tells the position of each term in `config`. */
#include "record/intel_pt/config.h"

#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "common/program/options.h"
#include "common/text/text.h"

#define PSB_SHIFT 11 /* psb_period=n: a PSB about every 2^(n + 11) bytes */
#define NONE INTEL_PT_CAPS
#define MTC_PERIOD 3 /* default of perf */

/* Capabilities of each term: required capability, and capability with the permitted values. */
static const struct {
	enum intel_pt_capability needs, values;
} rules[INTEL_PT_TERMS] = {
	[INTEL_PT_PT] = {NONE, NONE},
	[INTEL_PT_BRANCH] = {NONE, NONE},
	[INTEL_PT_TSC] = {NONE, NONE},
	[INTEL_PT_NORETCOMP] = {NONE, NONE},
	[INTEL_PT_PSB_PERIOD] = {INTEL_PT_CAP_PSB_CYC, INTEL_PT_CAP_PSB_PERIODS},
	[INTEL_PT_MTC] = {INTEL_PT_CAP_MTC, NONE},
	[INTEL_PT_MTC_PERIOD] = {INTEL_PT_CAP_MTC, INTEL_PT_CAP_MTC_PERIODS},
	[INTEL_PT_CYC] = {INTEL_PT_CAP_PSB_CYC, NONE},
	[INTEL_PT_CYC_THRESH] = {INTEL_PT_CAP_PSB_CYC, INTEL_PT_CAP_CYCLE_THRESHOLDS},
	[INTEL_PT_PTW] = {INTEL_PT_CAP_PTWRITE, NONE},
	[INTEL_PT_FUP_ON_PTW] = {INTEL_PT_CAP_PTWRITE, NONE},
	[INTEL_PT_PWR_EVT] = {INTEL_PT_CAP_POWER_EVENTS, NONE},
	[INTEL_PT_EVENT] = {INTEL_PT_CAP_EVENT_TRACE, NONE},
	[INTEL_PT_NOTNT] = {INTEL_PT_CAP_TNT_DISABLE, NONE},
};

/* ---- capabilities ---------------------------------------------------------------------------- */

static bool has_term(const struct intel_pt_device *device, enum intel_pt_term term)
{
	return device->fields[term] && (rules[term].needs == NONE || device->caps[rules[term].needs]);
}

/* Returns the permitted values of the term as bits; without a capability, all values that fit into the field. */
static uint64_t values_of(const struct intel_pt_device *device, enum intel_pt_term term)
{
	const uint64_t field = device->fields[term];
	const uint64_t most = field ? field / (field & -field) : 0;
	const uint64_t fit = most >= 63 ? UINT64_MAX : (2ull << most) - 1;

	/* The CPU accepts the default 0 always. */
	return rules[term].values == NONE ? fit : fit & (device->caps[rules[term].values] | 1);
}

/* Appends values such as "0, 3, 6". */
static void add_values(struct ptl_bytes *text, uint64_t values)
{
	const char *between = "";

	for (unsigned bit = 0; bit < 64; bit++) {
		if (!(values >> bit & 1))
			continue;
		common_text_format(text, "%s%u", between, bit);
		between = ", ";
	}
}

static int refuse_value(const struct intel_pt_device *device, enum intel_pt_term term, uint64_t value)
{
	struct ptl_bytes text = {0};
	int status;

	add_values(&text, values_of(device, term));
	status = common_fail(PTL_UNSUPPORTED, "%s=%llu: this CPU takes %s", intel_pt_term_name(term),
			     (unsigned long long)value, common_text_string(&text));
	common_bytes_free(&text);
	return status;
}

static int refuse_term(const struct intel_pt_device *device, enum intel_pt_term term)
{
	struct ptl_bytes text = {0};
	int status;

	for (unsigned i = 0; i < INTEL_PT_TERMS; i++)
		if (has_term(device, (enum intel_pt_term)i))
			common_text_format(&text, "%s%s", text.size ? ", " : "",
					   intel_pt_term_name((enum intel_pt_term)i));
	status = common_fail(PTL_UNSUPPORTED, "this CPU, or its kernel, has no %s; it has %s", intel_pt_term_name(term),
			     common_text_string(&text));
	common_bytes_free(&text);
	return status;
}

static int set_config(const struct intel_pt_device *device, struct intel_pt_config *config, enum intel_pt_term term,
		      uint64_t value)
{
	/* Branches cannot be left out if the driver lacks the term. */
	if ((value || term == INTEL_PT_BRANCH) && !has_term(device, term))
		return refuse_term(device, term);
	if (value > 63 || !(values_of(device, term) >> value & 1)) {
		if (value)
			return refuse_value(device, term, value);
	}
	config->values[term] = value;
	return 0;
}

/* Returns the value, or the nearest lower permitted value. */
static uint64_t nearest(const struct intel_pt_device *device, enum intel_pt_term term, uint64_t value)
{
	const uint64_t values = values_of(device, term);

	while (value && (value > 63 || !(values >> value & 1)))
		value--;
	return value;
}

/* ---- settings -------------------------------------------------------------------------------- */

static uint64_t psb_value(uint64_t bytes)
{
	uint64_t value = 0;

	while (bytes >> (value + 1) >= 1u << PSB_SHIFT)
		value++;
	return value;
}

static int set_timing(const struct intel_pt_device *device, const struct record_settings *settings,
		      struct intel_pt_config *config)
{
	const bool wants_cyc = settings->timing == PTL_TIMING_CYC;
	const bool wants_mtc = settings->timing == PTL_TIMING_MTC || wants_cyc;
	int status = set_config(device, config, INTEL_PT_TSC, settings->timing != PTL_TIMING_NONE);

	/* Without MTC, only PSBs tell the time. */
	if (status == 0 && wants_mtc && (has_term(device, INTEL_PT_MTC) || settings->timing_given))
		status = set_config(device, config, INTEL_PT_MTC, 1);
	if (status == 0 && wants_cyc)
		status = set_config(device, config, INTEL_PT_CYC, 1);
	if (status == 0 && config->values[INTEL_PT_MTC])
		config->values[INTEL_PT_MTC_PERIOD] = nearest(device, INTEL_PT_MTC_PERIOD, MTC_PERIOD);
	return status;
}

static int set_options(const struct intel_pt_device *device, const struct record_settings *settings,
		       struct intel_pt_config *config)
{
	int status;

	/* If the driver knows "pt", branches need the bit "branch". */
	config->values[INTEL_PT_PT] = config->values[INTEL_PT_BRANCH] = has_term(device, INTEL_PT_PT) &&
									has_term(device, INTEL_PT_BRANCH);
	status = set_config(device, config, INTEL_PT_NORETCOMP, !settings->return_compression);
	if (status == 0)
		status = set_timing(device, settings, config);
	if (status == 0 && has_term(device, INTEL_PT_PSB_PERIOD))
		config->values[INTEL_PT_PSB_PERIOD] = nearest(device, INTEL_PT_PSB_PERIOD,
							      psb_value(settings->psb_period));
	return status;
}

static int unknown_term(const char *name, size_t length)
{
	struct ptl_bytes text = {0};
	int status;

	for (unsigned i = 0; i < INTEL_PT_TERMS; i++)
		common_text_format(&text, "%s%s", text.size ? ", " : "", intel_pt_term_name((enum intel_pt_term)i));
	status = common_fail(PTL_MISUSE, "\"%.*s\" is no term of Intel PT; there are %s", (int)length, name,
			     common_text_string(&text));
	common_bytes_free(&text);
	return status;
}

/* Parses a term such as "cyc" or "branch=0". */
static int take_term(const struct intel_pt_device *device, const char *text, size_t size,
		     struct intel_pt_config *config)
{
	const char *equals = memchr(text, '=', size);
	const size_t length = equals ? (size_t)(equals - text) : size;
	char number[32];
	uint64_t value = 1;

	if (equals) {
		const size_t digits = size - length - 1;

		snprintf(number, sizeof(number), "%.*s", (int)(digits < 31 ? digits : 31), equals + 1);
		if (common_parse_u64(number, &value) < 0)
			return common_fail_in(PTL_MISUSE, "%.*s", (int)length, text);
	}
	for (unsigned i = 0; i < INTEL_PT_TERMS; i++) {
		const char *name = intel_pt_term_name((enum intel_pt_term)i);

		if (strlen(name) != length || memcmp(name, text, length) != 0)
			continue;
		config->given |= 1u << i;
		return set_config(device, config, (enum intel_pt_term)i, value);
	}
	return unknown_term(text, length);
}

static int take_terms(const struct intel_pt_device *device, const char *terms, struct intel_pt_config *config)
{
	int status = 0;

	for (size_t size; status == 0 && terms; terms = terms[size] ? terms + size + 1 : NULL) {
		size = strcspn(terms, ",");
		status = take_term(device, terms, size, config);
	}
	return status;
}

/* Checks terms that depend on other terms. */
static int check_together(const struct intel_pt_device *device, struct intel_pt_config *config)
{
	const uint64_t *values = config->values;

	if (values[INTEL_PT_FUP_ON_PTW] && !values[INTEL_PT_PTW])
		return common_fail(PTL_MISUSE, "fup_on_ptw is of PTWRITE packets: it needs ptw");
	/* Without pt, the driver ignores BRANCH. */
	if (has_term(device, INTEL_PT_PT) && !values[INTEL_PT_PT])
		return common_fail(PTL_MISUSE, "without pt, branch means nothing; branches are left out with branch=0");
	if (!values[INTEL_PT_MTC] && values[INTEL_PT_MTC_PERIOD] && config->given >> INTEL_PT_MTC_PERIOD & 1)
		return common_fail(PTL_MISUSE, "mtc_period is of MTC packets: it needs mtc, or --timing mtc");
	if (!values[INTEL_PT_CYC] && values[INTEL_PT_CYC_THRESH])
		return common_fail(PTL_MISUSE, "cyc_thresh is of CYC packets: it needs cyc, or --timing cyc");
	if (!values[INTEL_PT_MTC])
		config->values[INTEL_PT_MTC_PERIOD] = 0;
	else if (!(device->caps[INTEL_PT_CAP_MTC_PERIODS] >> values[INTEL_PT_MTC_PERIOD] & 1))
		return refuse_value(device, INTEL_PT_MTC_PERIOD, values[INTEL_PT_MTC_PERIOD]);
	return 0;
}

int intel_pt_configure(const struct intel_pt_device *device, const struct record_settings *settings,
		       struct intel_pt_config *config)
{
	int status;

	*config = (struct intel_pt_config){0};
	status = set_options(device, settings, config);
	if (status == 0)
		status = take_terms(device, settings->pt.terms, config);
	if (status == 0)
		status = check_together(device, config);
	for (unsigned i = 0; status == 0 && i < INTEL_PT_TERMS; i++) {
		const uint64_t field = device->fields[i];

		config->word |= config->values[i] * (field & -field);
	}
	return status;
}

void intel_pt_describe(const struct intel_pt_device *device, const struct intel_pt_config *config,
		       struct ptl_machine *machine)
{
	const uint64_t *values = config->values;

	snprintf(machine->source, sizeof(machine->source), "intel_pt");
	machine->timing = values[INTEL_PT_CYC]   ? PTL_TIMING_CYC
			  : values[INTEL_PT_MTC] ? PTL_TIMING_MTC
			  : values[INTEL_PT_TSC] ? PTL_TIMING_TSC
						 : PTL_TIMING_NONE;
	machine->return_compression = !values[INTEL_PT_NORETCOMP];
	machine->psb_period = 1ull << (values[INTEL_PT_PSB_PERIOD] + PSB_SHIFT);
	machine->mtc_frequency = (uint8_t)values[INTEL_PT_MTC_PERIOD];
	machine->cyc_threshold = (uint8_t)values[INTEL_PT_CYC_THRESH];
	machine->ctc_numerator = device->ctc_numerator;
	machine->ctc_denominator = device->ctc_denominator;
	machine->nominal_ratio = device->nominal_ratio;
}
