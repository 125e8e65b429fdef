/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints an event as a line of text or JSON. */
#ifndef DUMP_PRINT_EVENT_H
#define DUMP_PRINT_EVENT_H

#include <stdbool.h>

#include "analysis/event/stack.h"
#include "dump/print/payload.h"
#include "dump/run/run.h"

/* Set run, timeline and values, zero the other members. Free with dump_event_printer_free. */
struct dump_event_printer {
	struct dump_run *run;
	const struct flow_timeline *timeline;
	struct analysis_values *values;
	bool in_flow;                         /* JSON objects get a "type", as lines of flow have */
	bool absolute;                        /* times of day in UTC */
	bool verbose;                         /* also id, version, level, keywords, channel, tags and extended items */
	const struct analysis_stacks *stacks; /* NULL: stacks are not shown */
	size_t name_width, process_width;     /* column widths, set at the first event */
	bool has_head;                        /* the column titles have been printed */
	bool goes_on;                         /* no titles needed: output follows the output of another trace */
	struct ptl_bytes line, fields, scratch;
	struct dump_places places;
};

void dump_event_printer_free(struct dump_event_printer *printer);
/* Returns PTL_NO_MEMORY if memory was short for any output, else 0. */
int dump_event_printer_status(const struct dump_event_printer *printer);

/*
 * Prints "12.345678  Provider/Task/Opcode  process (pid)  thread  message  Name=value ...", with column titles before
 * the first event. Returns 0 or PTL_NO_MEMORY. Output errors are found by the run.
 */
int dump_event_text(struct dump_event_printer *printer, const struct ptl_event *event, const struct ptl_schema *schema);
/* Prints one JSON object and a newline; docs/json/ documents the members. Returns 0 or PTL_NO_MEMORY. */
int dump_event_json(struct dump_event_printer *printer, const struct ptl_event *event, const struct ptl_schema *schema);
/* Appends "Provider/Task/Opcode  message  Name=value ..." and a newline. Returns 0 or PTL_NO_MEMORY. */
int dump_event_brief(struct dump_event_printer *printer, const struct ptl_event *event, const struct ptl_schema *schema,
		     struct ptl_bytes *text);

#endif
