/* SPDX-License-Identifier: BSD-2-Clause */
/* Room left for metadata in a file. */
#ifndef FORMAT_WRITER_ROOM_H
#define FORMAT_WRITER_ROOM_H

#include <stdbool.h>

#include <ptl/writer.h>

/*
 * Whether at least `percent` of the limits for metadata are left, in bytes and in items: FORMAT_METADATA_MAX,
 * FORMAT_METADATA_ITEMS_MAX.
 */
bool format_writer_has_room(const struct ptl_writer *writer, unsigned percent);
/*
 * As ptl_writer_stream, without a stream record. The stream's buffers declare the stream; without buffers, the stream
 * is not in the file. Needs no room for metadata.
 */
int format_writer_stream_quietly(struct ptl_writer *writer, struct ptl_stream *stream);

#endif
