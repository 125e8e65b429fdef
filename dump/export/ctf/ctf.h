/* SPDX-License-Identifier: BSD-2-Clause */
/* Events as a trace of the Common Trace Format, 1.8. */
#ifndef DUMP_EXPORT_CTF_CTF_H
#define DUMP_EXPORT_CTF_CTF_H

#include "dump/export/export.h"

/* An event of no schema, or one that its schema does not fit, has this number behind those of the schemas. */
static inline uint32_t dump_ctf_raw_class(const struct ptl_trace *trace)
{
	return (uint32_t)ptl_schema_count(trace);
}

/* Appends the text that explains the stream. Memory that lacks is left in text->failed. */
void dump_ctf_metadata(const struct ptl_trace *trace, struct ptl_bytes *text);

/*
 * Writes the events that the session's options select as packets of one stream. What is not in it is added to left_out. PTL_SYSTEM,
 * PTL_NO_MEMORY, and what ptl_process returns.
 */
int dump_ctf_stream(struct dump_session *session, int fd, struct dump_left_out *left_out);

#endif
