/* SPDX-License-Identifier: BSD-2-Clause */
/* One run of ptl-relog: inputs, stages, output, and what is said about it. */
#ifndef RELOG_RUN_H
#define RELOG_RUN_H

#include <stdbool.h>

#include "relog/settings/settings.h"

struct ptl_relogger;

/* *damaged: the output is there, and inputs were damaged or incomplete. */
int relog_run(const struct relog_settings *settings, bool *damaged);

/* From now on an interruption cancels the relogger, until common_interrupt_forget. */
void relog_catch_interrupts(struct ptl_relogger *relogger);

#endif
