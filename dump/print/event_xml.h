/* SPDX-License-Identifier: BSD-2-Clause */
/* Events as XML, in the form that Windows gives to them. */
#ifndef DUMP_PRINT_EVENT_XML_H
#define DUMP_PRINT_EVENT_XML_H

#include "dump/print/event.h"

/*
 * An Event element of Windows' event schema, as tracerpt and wevtutil write it, before the first one the beginning of the
 * document. PTL_NO_MEMORY.
 */
int dump_event_xml(struct dump_event_printer *printer, const struct ptl_event *event, const struct ptl_schema *schema);
/* The end of the document, which is a whole one also without events. */
void dump_event_xml_end(struct dump_event_printer *printer);

#endif
