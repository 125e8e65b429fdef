/* SPDX-License-Identifier: BSD-2-Clause */
/* A file that goes on where another one ends. */
#ifndef FORMAT_WRITER_REPEAT_H
#define FORMAT_WRITER_REPEAT_H

#include <ptl/reader.h>
#include <ptl/writer.h>

/* Writes the schemas and maps that another writer was given. As ptl_writer_schema. */
int format_writer_repeat(struct ptl_writer *writer, const struct ptl_writer *before);
/*
 * Writes the blob of this hash, unless the file has it, as another trace has it; nothing, where that has it not or it cannot be
 * read. As ptl_writer_blob.
 */
int format_writer_repeat_blob(struct ptl_writer *writer, struct ptl_trace *before, const uint8_t hash[PTL_HASH_SIZE]);

#endif
