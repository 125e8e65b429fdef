/* SPDX-License-Identifier: BSD-2-Clause */
/* How the kernel's clock of events counts the TSC. */
#ifndef RECORD_PERF_TSC_H
#define RECORD_PERF_TSC_H

#include <stdbool.h>

#include "record/clock/clock.h"

/* false: the kernel does not say, since the TSC is not its clock here. */
bool record_tsc_read(struct record_tsc *tsc);

#endif
