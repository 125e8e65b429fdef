/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of EventHeader events, as the interceptor of Microsoft's LinuxTracepoints writes them (.dat), as inputs. */
#ifndef RELOG_INPUT_EVENT_HEADER_H
#define RELOG_INPUT_EVENT_HEADER_H

#include "relog/inputs.h"

struct event_header_outcome {
	uint64_t unknown; /* records of tracepoints that are none of EventHeader's, or of a newer kind */
	char damage[256]; /* why the rest could not be read; "": it could */
};

/*
 * Writes the whole content but the provenance record. fd can be sought, and stays the caller's. Damage is no failure: it is in
 * *outcome, and a loss record. PTL_NO_MEMORY, PTL_SYSTEM, PTL_CANCELLED.
 */
int relog_event_header_import(int fd, struct ptl_writer *writer, struct event_header_outcome *outcome);

/*
 * A file of records: u32 size of the record, itself included; the tracepoint's name up to a zero byte; the event, from its
 * header on. Times, processes and threads are not reported.
 */
extern const struct relog_format relog_format_event_header;

#endif
