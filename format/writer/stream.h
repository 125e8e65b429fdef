/* SPDX-License-Identifier: BSD-2-Clause */
/* The partial buffers of a writer: adding to them, and when they are handed to the queue. */
#ifndef FORMAT_WRITER_STREAM_H
#define FORMAT_WRITER_STREAM_H

#include "format/writer/writer_internal.h"

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t format_monotonic_now(void);

/* A new stream; its id is its place in writer->streams. NULL without memory. */
struct ptl_writer_stream *format_stream_new(struct ptl_writer *writer, const struct ptl_stream *identity);
void format_stream_free(struct ptl_writer_stream *stream);

/* Widens the times of the buffer being filled. */
void format_stream_touch(struct ptl_writer_stream *stream, uint64_t time);
/* Says that something was added: submits what is full, or old. PTL_NO_MEMORY. */
int format_stream_added(struct ptl_writer *writer, struct ptl_writer_stream *stream);
/* Appends bytes, over as many buffers as that takes. PTL_NO_MEMORY. */
int format_stream_bytes(struct ptl_writer *writer, struct ptl_writer_stream *stream, const uint8_t *data, size_t size);
/* Hands the stream's partial buffer to the queue if there is anything in it. PTL_NO_MEMORY. */
int format_stream_submit(struct ptl_writer *writer, struct ptl_writer_stream *stream);
/*
 * The same for all streams whose buffer was begun at or before a monotonic time; UINT64_MAX: all.
 */
int format_streams_submit(struct ptl_writer *writer, uint64_t before);
/* The same for those that are older than the flush interval. */
int format_streams_submit_old(struct ptl_writer *writer);

#endif
