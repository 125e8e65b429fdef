/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of perf record as inputs. */
#ifndef RELOG_INPUT_PERF_H
#define RELOG_INPUT_PERF_H

#include "relog/inputs.h"

extern const struct relog_format relog_format_perf;

#endif
