/* SPDX-License-Identifier: BSD-2-Clause */
/* Conversion from the TSC to the kernel's clock of events. */
#ifndef RECORD_PERF_TSC_H
#define RECORD_PERF_TSC_H

#include <stdbool.h>

#include "record/clock/clock.h"

/* Returns false if the kernel's clock does not use the TSC. */
bool record_tsc_read(struct record_tsc *tsc);

#endif
