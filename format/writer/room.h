/* SPDX-License-Identifier: BSD-2-Clause */
/* How much metadata a file still has room for. */
#ifndef FORMAT_WRITER_ROOM_H
#define FORMAT_WRITER_ROOM_H

#include <stdbool.h>

#include <ptl/writer.h>

/* Whether at least this share of the room for metadata is left, in bytes and in items: FORMAT_METADATA_MAX, FORMAT_METADATA_ITEMS_MAX. */
bool format_writer_has_room(const struct ptl_writer *writer, unsigned percent);
/*
 * As ptl_writer_stream, without a record: buffers of the stream declare it, so that a stream without any is not in the file. Takes no
 * room.
 */
int format_writer_stream_quietly(struct ptl_writer *writer, struct ptl_stream *stream);

#endif
