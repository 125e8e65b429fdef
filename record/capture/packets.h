/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets of a capture, divided between the files of a series at the beginning of a PSB. */
#ifndef RECORD_CAPTURE_PACKETS_H
#define RECORD_CAPTURE_PACKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/psbs.h"

struct record_capture;

int record_capture_pt(struct record_capture *capture, uint32_t stream, const void *data, size_t size, uint64_t time);
int record_capture_psb(struct record_capture *capture, uint32_t stream, uint64_t offset, uint64_t time);
int record_capture_hole(struct record_capture *capture, uint32_t stream, uint64_t size, uint64_t time);
/* Returns the known times for the PSBs of packets that are not later than `now`. */
struct import_psb_clock record_capture_psb_clock(struct record_capture *capture, uint64_t now);
/* Ends a stream of packets. Later files do not have the stream. */
int record_capture_end_stream(struct record_capture *capture, uint32_t stream);

/*
 * Continues all streams in a new file. The previous file is capture->rotation.before. Declares streams of events in the
 * same order. Streams of packets wait for a PSB.
 */
int record_streams_go_on(struct record_capture *capture);

/*
 * Ends writing to the previous file, before the file is closed. Waiting streams skip further packets. last: no later
 * file takes the packets either.
 */
int record_streams_leave_before(struct record_capture *capture, bool last);

#endif
