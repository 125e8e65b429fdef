/* SPDX-License-Identifier: BSD-2-Clause */
/* What the recorder and the relogger need of a writer at its end besides ptl/writer.h. */
#ifndef FORMAT_WRITER_CLOSING_H
#define FORMAT_WRITER_CLOSING_H

#include <stdint.h>

#include <ptl/writer.h>

/* What a closed file has, and lacks. */
struct format_writer_end {
	uint64_t stored_bytes; /* written, whether to a file or a pipe */
	uint64_t lost_buffers; /* that the file lacks, although their writing was tried */
	uint64_t lost_events;  /* in these buffers */
};

/* Makes ptl_writer_close write all buffers, but no index and no trailer: to every reader the file is incomplete. */
void format_writer_leave_unfinished(struct ptl_writer *writer);
/* As ptl_writer_close. *end is complete also after a failure. */
int format_writer_close(struct ptl_writer *writer, struct format_writer_end *end);

#endif
