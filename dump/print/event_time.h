/* SPDX-License-Identifier: BSD-2-Clause */
/* Times of the trace's clock as times of day. */
#ifndef DUMP_PRINT_EVENT_TIME_H
#define DUMP_PRINT_EVENT_TIME_H

#include <ptl/trace.h>

#include "common/bytes.h"

/* Nanoseconds since 1970; false where they do not fit. */
bool dump_wall_time(const struct ptl_machine *machine, uint64_t time, int64_t *wall);
/* "2026-11-21T08:30:00.123456789Z"; "" where it does not fit. */
void dump_text_system_time(struct ptl_bytes *text, int64_t wall);

#endif
