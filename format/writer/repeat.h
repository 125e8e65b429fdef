/* SPDX-License-Identifier: BSD-2-Clause */
/* A file that goes on where another one ends. */
#ifndef FORMAT_WRITER_REPEAT_H
#define FORMAT_WRITER_REPEAT_H

#include <ptl/writer.h>

/* Writes the schemas and maps that another writer was given. As ptl_writer_schema. */
int format_writer_repeat(struct ptl_writer *writer, const struct ptl_writer *before);

#endif
