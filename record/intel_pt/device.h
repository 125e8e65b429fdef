/* SPDX-License-Identifier: BSD-2-Clause */
/* Intel PT as the kernel's driver describes the CPU in sysfs: capabilities, and positions of terms in `config`. */
#ifndef RECORD_INTEL_PT_DEVICE_H
#define RECORD_INTEL_PT_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INTEL_PT_DEVICE "/sys/bus/event_source/devices/intel_pt"

/* Files in caps/, hexadecimal. A missing file counts as 0. */
enum intel_pt_capability {
	INTEL_PT_CAP_PSB_CYC,
	INTEL_PT_CAP_PSB_PERIODS,      /* bit n: psb_period=n */
	INTEL_PT_CAP_CYCLE_THRESHOLDS, /* bit n: cyc_thresh=n */
	INTEL_PT_CAP_MTC,
	INTEL_PT_CAP_MTC_PERIODS, /* bit n: mtc_period=n */
	INTEL_PT_CAP_IP_FILTERING,
	INTEL_PT_CAP_PTWRITE,
	INTEL_PT_CAP_POWER_EVENTS,
	INTEL_PT_CAP_EVENT_TRACE,
	INTEL_PT_CAP_TNT_DISABLE,
	INTEL_PT_CAPS,
};

/* Files in format/, such as "config:14-17". The order is as in record/intel_pt/config.c. */
enum intel_pt_term {
	INTEL_PT_PT,
	INTEL_PT_BRANCH,
	INTEL_PT_TSC,
	INTEL_PT_NORETCOMP,
	INTEL_PT_PSB_PERIOD,
	INTEL_PT_MTC,
	INTEL_PT_MTC_PERIOD,
	INTEL_PT_CYC,
	INTEL_PT_CYC_THRESH,
	INTEL_PT_PTW,
	INTEL_PT_FUP_ON_PTW,
	INTEL_PT_PWR_EVT,
	INTEL_PT_EVENT,
	INTEL_PT_NOTNT,
	INTEL_PT_TERMS,
};

struct intel_pt_device {
	uint32_t type; /* perf_event_attr.type */
	uint32_t filters_max;
	uint64_t caps[INTEL_PT_CAPS];
	uint64_t fields[INTEL_PT_TERMS]; /* contiguous bits of the term in config; 0: unknown to the driver */
	uint8_t nominal_ratio;           /* 0: unknown */
	uint32_t ctc_numerator;          /* TSC ticks per ... */
	uint32_t ctc_denominator;        /* ... ticks of the crystal clock; 0: unknown */
};

/* Returns the name of a term, as in format/ and in perf. */
const char *intel_pt_term_name(enum intel_pt_term term);

/*
 * Fails with PTL_SYSTEM if the device is missing or unreadable, or with PTL_CORRUPT if the kernel's texts are invalid.
 */
int intel_pt_device_read(const char *folder, struct intel_pt_device *device);

#endif
