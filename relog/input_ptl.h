/* SPDX-License-Identifier: BSD-2-Clause */
/* A trace file as an input: copies its content, known or not, and turns its damage into losses. */
#ifndef PTL_RELOG_INPUT_PTL_H
#define PTL_RELOG_INPUT_PTL_H

#include <stdbool.h>

#include "relog/output.h"
#include "relog/settings.h"
#include "relog/source.h"

/*
 * Writes the content of source but a new provenance record: its buffers, whose payloads stay as
 * they are byte for byte, in their order. What of source is damaged or missing is said on stderr
 * and recorded as losses; *damaged then becomes true.
 *
 * PTL_SYSTEM, PTL_NO_MEMORY, PTL_CANCELLED, and what ptl_trace_* functions give.
 */
int relog_input_ptl(struct relog_source *source, struct relog_output *output, bool *damaged);

#endif
