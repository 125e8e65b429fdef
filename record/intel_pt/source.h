/* SPDX-License-Identifier: BSD-2-Clause */
/* Intel Processor Trace of the CPU, through perf_event_open(2). docs/hardware.md has what is used of the kernel. */
#ifndef RECORD_INTEL_PT_SOURCE_H
#define RECORD_INTEL_PT_SOURCE_H

#include "record/session/source.h"

extern const struct record_source record_intel_pt_source;

#endif
