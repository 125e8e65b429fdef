/* SPDX-License-Identifier: BSD-2-Clause */
/* Partial buffers of a writer: adding data, and submission to the queue. */
#ifndef FORMAT_WRITER_STREAM_H
#define FORMAT_WRITER_STREAM_H

#include "format/writer/writer_internal.h"

/* Returns CLOCK_MONOTONIC in nanoseconds. */
uint64_t format_monotonic_now(void);

/* Creates a stream, whose id is its index in writer->streams. NULL without memory. */
struct ptl_writer_stream *format_stream_new(struct ptl_writer *writer, const struct ptl_stream *identity);
void format_stream_free(struct ptl_writer_stream *stream);

/* Extends the time range of the current buffer. */
void format_stream_touch(struct ptl_writer_stream *stream, uint64_t time);
/* Called after adding data: submits full or old buffers. PTL_NO_MEMORY. */
int format_stream_added(struct ptl_writer *writer, struct ptl_writer_stream *stream);
/* Appends bytes, using several buffers if necessary. PTL_NO_MEMORY. */
int format_stream_bytes(struct ptl_writer *writer, struct ptl_writer_stream *stream, const uint8_t *data, size_t size);
/* Submits the stream's partial buffer unless empty. PTL_NO_MEMORY. */
int format_stream_submit(struct ptl_writer *writer, struct ptl_writer_stream *stream);
/* Submits the partial buffers of all streams that were begun at or before a monotonic time; UINT64_MAX: all. */
int format_streams_submit(struct ptl_writer *writer, uint64_t before);
/* Submits the partial buffers of all streams that are older than the flush interval. */
int format_streams_submit_old(struct ptl_writer *writer);

#endif
