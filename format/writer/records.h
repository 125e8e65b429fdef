/* SPDX-License-Identifier: BSD-2-Clause */
/* Many events at once, of which little has to be said. */
#ifndef FORMAT_WRITER_RECORDS_H
#define FORMAT_WRITER_RECORDS_H

#include <ptl/writer.h>

#include "format/event/events.h"

/* As ptl_writer_event of each of them, in this order. */
int format_writer_records(struct ptl_writer *writer, uint32_t stream, const struct format_event_record *records,
			  size_t count);

#endif
