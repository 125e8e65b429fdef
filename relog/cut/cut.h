/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cutting: a part of a trace, by time, process or thread, that is a whole trace again. docs/cutting.md says
 * what it keeps and why.
 */
#ifndef RELOG_CUT_CUT_H
#define RELOG_CUT_CUT_H

#include "relog/settings/stage.h"

extern const struct relog_stage relog_stage_cut;

#endif
