/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions for the recorder and the relogger to close a writer, besides ptl/writer.h. */
#ifndef FORMAT_WRITER_CLOSING_H
#define FORMAT_WRITER_CLOSING_H

#include <stdint.h>

#include <ptl/writer.h>

/* Summary of a closed file. */
struct format_writer_end {
	uint64_t stored_bytes; /* bytes written, to a file or a pipe */
	uint64_t lost_buffers; /* buffers that could not be written */
	uint64_t lost_events;  /* events in the lost buffers */
};

/*
 * Makes ptl_writer_close write all buffers, but neither index nor trailer, so that readers treat the file as
 * incomplete.
 */
void format_writer_leave_unfinished(struct ptl_writer *writer);
/* As ptl_writer_close. *end is set completely, also on failure. */
int format_writer_close(struct ptl_writer *writer, struct format_writer_end *end);

#endif
