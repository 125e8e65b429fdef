/* SPDX-License-Identifier: BSD-2-Clause */
/* What is asked for as perf_event_attr.config, each term only where this CPU can do it. */
#ifndef RECORD_INTEL_PT_CONFIG_H
#define RECORD_INTEL_PT_CONFIG_H

#include <stdint.h>

#include <ptl/trace.h>

#include "record/capture/settings.h"
#include "record/intel_pt/device.h"

struct intel_pt_config {
	uint64_t values[INTEL_PT_TERMS];
	uint32_t given; /* bits of terms that were asked for by name */
	uint64_t word;  /* perf_event_attr.config */
};

/*
 * Options that were not given settle for what the CPU has; those that were, and terms, are refused otherwise.
 * PTL_MISUSE: not a term; PTL_UNSUPPORTED, with what the CPU can do.
 */
int intel_pt_configure(const struct intel_pt_device *device, const struct record_settings *settings,
		       struct intel_pt_config *config);

/* What the machine record says of packets. */
void intel_pt_describe(const struct intel_pt_device *device, const struct intel_pt_config *config,
		       struct ptl_machine *machine);

#endif
