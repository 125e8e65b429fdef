/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts times of the trace's clock to times of day. */
#ifndef DUMP_PRINT_EVENT_TIME_H
#define DUMP_PRINT_EVENT_TIME_H

#include <ptl/trace.h>

#include "common/bytes.h"

/* Computes nanoseconds since 1970. Returns false on overflow. */
bool dump_wall_time(const struct ptl_machine *machine, uint64_t time, int64_t *wall);
/* Appends "2026-11-21T08:30:00.123456789Z"; nothing if the year does not fit. */
void dump_text_system_time(struct ptl_bytes *text, int64_t wall);

#endif
