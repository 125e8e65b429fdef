/* SPDX-License-Identifier: BSD-2-Clause */
/* Lets a file continue where another file ends. */
#ifndef FORMAT_WRITER_REPEAT_H
#define FORMAT_WRITER_REPEAT_H

#include <ptl/reader.h>
#include <ptl/writer.h>

/* Writes the schemas and maps that were given to another writer. Errors as ptl_writer_schema. */
int format_writer_repeat(struct ptl_writer *writer, const struct ptl_writer *before);
/*
 * Copies the blob with this hash from another trace, unless the file has the blob. Writes nothing if the trace lacks
 * the blob or cannot read it. Errors as ptl_writer_blob.
 */
int format_writer_repeat_blob(struct ptl_writer *writer, struct ptl_trace *before, const uint8_t hash[PTL_HASH_SIZE]);

/* Submits all data for writing, without waiting. *position: for format_writer_reached. Errors as ptl_writer_flush. */
int format_writer_submit(struct ptl_writer *writer, uint64_t *position);
/* Whether all data up to `position` was written to the file or lost. */
bool format_writer_reached(struct ptl_writer *writer, uint64_t position);
/*
 * Waits until everything up to `position` is in the file or was lost. Callable from any thread while the writer is
 * open.
 */
void format_writer_await(struct ptl_writer *writer, uint64_t position);

#endif
