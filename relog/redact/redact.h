/* SPDX-License-Identifier: BSD-2-Clause */
/* Redaction: replaces paths, names and texts by tokens, everywhere in a trace. ptl-relog(1) describes the rules. */
#ifndef RELOG_REDACT_REDACT_H
#define RELOG_REDACT_REDACT_H

#include "relog/settings/stage.h"

extern const struct relog_stage relog_stage_redact;

#endif
