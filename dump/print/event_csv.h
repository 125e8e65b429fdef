/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints events as lines of CSV. */
#ifndef DUMP_PRINT_EVENT_CSV_H
#define DUMP_PRINT_EVENT_CSV_H

#include "dump/print/event.h"

/*
 * Prints a line, preceded by a line of column names before the first event: names of JSON members, and `fields` as in
 * text. Returns 0 or PTL_NO_MEMORY.
 */
int dump_event_csv(struct dump_event_printer *printer, const struct ptl_event *event, const struct ptl_schema *schema);

#endif
