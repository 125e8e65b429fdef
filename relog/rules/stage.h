/* SPDX-License-Identifier: BSD-2-Clause */
/* The stage of ptl-relog that applies a rule file. */
#ifndef RELOG_RULES_STAGE_H
#define RELOG_RULES_STAGE_H

#include "relog/settings/stage.h"

extern const struct relog_stage relog_stage_rules;

/*
 * Whether the rules need the whole input before its first event: ptwrite statements decode the flow. False for rules from a
 * pipe, which can be read once only, and for rules that cannot be read.
 */
bool relog_rules_need_whole(const struct relog_settings *settings);

#endif
