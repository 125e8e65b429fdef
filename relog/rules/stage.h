/* SPDX-License-Identifier: BSD-2-Clause */
/* The stage of ptl-relog that applies a rule file. */
#ifndef RELOG_RULES_STAGE_H
#define RELOG_RULES_STAGE_H

#include "relog/settings/stage.h"

extern const struct relog_stage relog_stage_rules;

#endif
