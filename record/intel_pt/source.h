/* SPDX-License-Identifier: BSD-2-Clause */
/* Intel PT of the CPU by perf_event_open(2). docs/hardware.md lists behaviour of the kernel that the source relies on. */
#ifndef RECORD_INTEL_PT_SOURCE_H
#define RECORD_INTEL_PT_SOURCE_H

#include "record/session/source.h"

extern const struct record_source record_intel_pt_source;

#endif
