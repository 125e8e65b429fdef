/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints events as XML, in the format of Windows. */
#ifndef DUMP_PRINT_EVENT_XML_H
#define DUMP_PRINT_EVENT_XML_H

#include "dump/print/event.h"

/*
 * Prints an Event element of Windows' event schema, as tracerpt and wevtutil do, preceded by the head of the document
 * before the first event. Returns 0 or PTL_NO_MEMORY.
 */
int dump_event_xml(struct dump_event_printer *printer, const struct ptl_event *event, const struct ptl_schema *schema);
/* Prints the end of the document, which is complete even without events. */
void dump_event_xml_end(struct dump_event_printer *printer);

#endif
