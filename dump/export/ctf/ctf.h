/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes events in the Common Trace Format (CTF), version 1.8. */
#ifndef DUMP_EXPORT_CTF_CTF_H
#define DUMP_EXPORT_CTF_CTF_H

#include "dump/export/export.h"

/*
 * Returns the class number for events without a schema, or with a payload that does not fit the schema. Lower numbers
 * belong to schemas.
 */
static inline uint32_t dump_ctf_raw_class(const struct ptl_trace *trace)
{
	return (uint32_t)ptl_schema_count(trace);
}

/* Appends the metadata that describe the stream. Sets text->failed without memory. */
void dump_ctf_metadata(const struct ptl_trace *trace, struct ptl_bytes *text);

/*
 * Writes the selected events as packets of one stream. Adds omitted data to left_out. Returns 0, PTL_SYSTEM,
 * PTL_NO_MEMORY, or a status of ptl_process.
 */
int dump_ctf_stream(struct dump_run *run, int fd, struct dump_left_out *left_out);

#endif
