/* SPDX-License-Identifier: BSD-2-Clause */
/* Facts about machine and clocks for decoders. */
#ifndef RECORD_CAPTURE_MACHINE_H
#define RECORD_CAPTURE_MACHINE_H

#include <stdint.h>

#include <ptl/trace.h>

#include "record/capture/settings.h"
#include "record/clock/clock.h"

/*
 * Describes the machine: names, CPUs, and the wall clock at start_time, which is now. The source later fills in its own
 * facts: name, CPU of the packets, clock rates.
 */
void record_machine_describe(const struct record_settings *settings, struct ptl_machine *machine);

/* Changes the clock of the trace (record/clock/clock.h), and restarts the trace's time now. */
void record_machine_use_tsc(struct ptl_machine *machine, const struct record_tsc *tsc);
void record_machine_use_wall(struct ptl_machine *machine);

#endif
