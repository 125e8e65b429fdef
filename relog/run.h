/* SPDX-License-Identifier: BSD-2-Clause */
/* A run of ptl-relog: connects inputs, stages and output, and reports. */
#ifndef RELOG_RUN_H
#define RELOG_RUN_H

#include <stdbool.h>

#include "relog/settings/settings.h"

struct ptl_relogger;

/* *damaged: the output was written, but inputs were damaged or incomplete. */
int relog_run(const struct relog_settings *settings, bool *damaged);

/* Makes interruptions cancel the relogger until common_interrupt_forget. */
void relog_catch_interrupts(struct ptl_relogger *relogger);

#endif
