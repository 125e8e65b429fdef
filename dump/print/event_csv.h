/* SPDX-License-Identifier: BSD-2-Clause */
/* Events as lines of CSV. */
#ifndef DUMP_PRINT_EVENT_CSV_H
#define DUMP_PRINT_EVENT_CSV_H

#include "dump/print/event.h"

/*
 * One line, before the first one the names of the columns: those of the members of JSON, and `fields` as in text.
 * PTL_NO_MEMORY.
 */
int dump_event_csv(struct dump_event_printer *printer, const struct ptl_event *event, const struct ptl_schema *schema);

#endif
