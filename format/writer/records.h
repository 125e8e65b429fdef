/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes many events without flags and extended items at once. */
#ifndef FORMAT_WRITER_RECORDS_H
#define FORMAT_WRITER_RECORDS_H

#include <ptl/writer.h>

#include "format/event/events.h"

/* As ptl_writer_event for each record, in order. */
int format_writer_records(struct ptl_writer *writer, uint32_t stream, const struct format_event_record *records,
			  size_t count);

#endif
