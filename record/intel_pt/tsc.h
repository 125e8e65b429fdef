/* SPDX-License-Identifier: BSD-2-Clause */
/* How the kernel's clock of events counts the TSC. */
#ifndef RECORD_INTEL_PT_TSC_H
#define RECORD_INTEL_PT_TSC_H

#include <stdbool.h>

#include "record/capture/clock.h"

/* false: the kernel does not say, since the TSC is not its clock here. */
bool intel_pt_tsc_read(struct record_tsc *tsc);

#endif
