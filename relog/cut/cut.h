/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cutting keeps a part of a trace, by time, process or thread. The result is a complete trace. docs/cutting.md says
 * what a cut keeps, and why.
 */
#ifndef RELOG_CUT_CUT_H
#define RELOG_CUT_CUT_H

#include "relog/settings/stage.h"

extern const struct relog_stage relog_stage_cut;

#endif
