/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes Intel PT address filters into a trace. */
#ifndef FORMAT_WRITER_PT_FILTER_H
#define FORMAT_WRITER_PT_FILTER_H

#include <ptl/writer.h>

/*
 * Writes the ranges of a text, see format_pt_filter_next. PTL_CORRUPT (nothing is written), PTL_NO_MEMORY, or a failure
 * of the writer.
 */
int format_writer_pt_filters(struct ptl_writer *writer, const char *text);

#endif
