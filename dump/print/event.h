/* SPDX-License-Identifier: BSD-2-Clause */
/* One event as a line of text, and as a line of JSON. */
#ifndef DUMP_PRINT_EVENT_H
#define DUMP_PRINT_EVENT_H

#include <stdbool.h>

#include "dump/print/payload.h"
#include "dump/print/stack.h"
#include "dump/session/session.h"

/* Set session, timeline and values; zero the rest; free with dump_event_printer_free. */
struct dump_event_printer {
	struct dump_session *session;
	const struct flow_timeline *timeline;
	struct dump_values *values;
	bool in_flow;                     /* JSON has a type, as lines of flow have */
	bool absolute;                    /* times of day, UTC */
	bool verbose;                     /* id, version, level, keywords, channel, tags and extended items too */
	const struct dump_stacks *stacks; /* NULL: not shown */
	size_t name_width, process_width; /* of the columns: found at the first event */
	bool has_head;                    /* the head of the columns was printed */
	bool goes_on;                     /* and needs none: this is behind what was printed of another trace */
	struct ptl_bytes line, fields, scratch;
	struct dump_places places;
};

void dump_event_printer_free(struct dump_event_printer *printer);
/* PTL_NO_MEMORY if there was too little for what was printed; 0. */
int dump_event_printer_status(const struct dump_event_printer *printer);

/*
 * "12.345678  Provider/Task/Opcode  process (pid)  thread  message  Name=value ...", before the first one a head.
 * PTL_NO_MEMORY. Failures of the output are the session's to find.
 */
int dump_event_text(struct dump_event_printer *printer, const struct ptl_event *event, const struct ptl_schema *schema);
/* One object and a newline: docs of the members are in ptl-dump(1). PTL_NO_MEMORY. */
int dump_event_json(struct dump_event_printer *printer, const struct ptl_event *event, const struct ptl_schema *schema);
/* Appends "Provider/Task/Opcode  message  Name=value ..." and a newline. PTL_NO_MEMORY. */
int dump_event_brief(struct dump_event_printer *printer, const struct ptl_event *event, const struct ptl_schema *schema,
		     struct ptl_bytes *text);

#endif
