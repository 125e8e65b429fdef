/* SPDX-License-Identifier: BSD-2-Clause */
/* The stage of ptl-relog that applies a rule file. */
#ifndef RELOG_RULES_STAGE_H
#define RELOG_RULES_STAGE_H

#include "relog/settings/stage.h"

extern const struct relog_stage relog_stage_rules;

/*
 * Reads and checks the rule file, if settings->rules names one. The file may be a pipe, and a run may have several outputs.
 * Returns PTL_SYSTEM, the errors of rules_parse, and PTL_MISUSE for options that choose events before ptwrite statements
 * make events.
 */
int relog_rules_load(struct relog_settings *settings);

#endif
