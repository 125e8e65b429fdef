/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns settings into perf_event_attr.config, with only the terms that this CPU supports. */
#ifndef RECORD_INTEL_PT_CONFIG_H
#define RECORD_INTEL_PT_CONFIG_H

#include <stdint.h>

#include <ptl/trace.h>

#include "record/capture/settings.h"
#include "record/intel_pt/device.h"

struct intel_pt_config {
	uint64_t values[INTEL_PT_TERMS];
	uint32_t given; /* bits of terms given by name */
	uint64_t word;  /* perf_event_attr.config */
};

/*
 * Default settings adapt to the CPU. Given options and terms are refused if unsupported.
 * Fails with PTL_MISUSE for an unknown term; with PTL_UNSUPPORTED and a text of the CPU's abilities.
 */
int intel_pt_configure(const struct intel_pt_device *device, const struct record_settings *settings,
		       struct intel_pt_config *config);

/* Fills in the machine record's facts about packets. */
void intel_pt_describe(const struct intel_pt_device *device, const struct intel_pt_config *config,
		       struct ptl_machine *machine);

#endif
