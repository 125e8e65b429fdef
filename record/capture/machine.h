/* SPDX-License-Identifier: BSD-2-Clause */
/* What a decoder has to know of this machine and its clocks. */
#ifndef RECORD_CAPTURE_MACHINE_H
#define RECORD_CAPTURE_MACHINE_H

#include <stdint.h>

#include <ptl/trace.h>

#include "record/capture/settings.h"
#include "record/clock/clock.h"

/*
 * Describes this machine: names, CPUs, and the wall clock at start_time, which is now. What a
 * source decides (its name, the CPU that makes the packets, clock rates) is left for it to fill in.
 */
void record_machine_describe(const struct record_settings *settings, struct ptl_machine *machine);

/* The trace has another clock from now on, as record/clock/clock.h has them, and starts now. */
void record_machine_use_tsc(struct ptl_machine *machine, const struct record_tsc *tsc);
void record_machine_use_wall(struct ptl_machine *machine);

#endif
