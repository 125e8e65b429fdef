/* SPDX-License-Identifier: BSD-2-Clause */
/* What a decoder has to know of this machine and its clocks. */
#ifndef RECORD_CAPTURE_MACHINE_H
#define RECORD_CAPTURE_MACHINE_H

#include <stdint.h>

#include <ptl/trace.h>

#include "record/capture/settings.h"

/* CLOCK_MONOTONIC, and the wall clock since 1970, in nanoseconds. */
uint64_t record_now(void);
int64_t record_wall_now(void);

/*
 * Describes this machine: names, CPUs, and the wall clock at start_time, which is now. What a
 * source decides (its name, the CPU that makes the packets, clock rates) is left for it to fill in.
 */
void record_machine_describe(const struct record_settings *settings, struct ptl_machine *machine);

#endif
