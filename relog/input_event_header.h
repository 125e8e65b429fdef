/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of EventHeader events, as the interceptor of Microsoft's LinuxTracepoints writes them (.dat), as inputs. */
#ifndef RELOG_INPUT_EVENT_HEADER_H
#define RELOG_INPUT_EVENT_HEADER_H

#include "relog/inputs.h"

struct event_header_outcome {
	uint64_t unknown; /* records of tracepoints outside EventHeader, or of a newer EventHeader version */
	char damage[256]; /* why the rest could not be read; "": everything was read */
};

/*
 * Writes all content except the provenance record. fd must be seekable, and stays the caller's. Damage is no failure:
 * damage is reported in *outcome, and as a loss record. Returns PTL_NO_MEMORY, PTL_SYSTEM, PTL_CANCELLED.
 */
int relog_event_header_import(int fd, struct ptl_writer *writer, struct event_header_outcome *outcome);

/*
 * The format of a file of records. A record is: u32 size of the record including the size; the tracepoint's name with a
 * zero byte; the event, beginning with its header. Records have no time, process and thread.
 */
extern const struct relog_format relog_format_event_header;

#endif
