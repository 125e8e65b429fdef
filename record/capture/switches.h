/* SPDX-License-Identifier: BSD-2-Clause */
/* Context switches that two files of a series need. */
#ifndef RECORD_CAPTURE_SWITCHES_H
#define RECORD_CAPTURE_SWITCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/event.h>

struct record_capture;
struct record_stream;

#define RECORD_SWITCHES_MAX 1024u
#define RECORD_SWITCH_PAYLOAD_MAX 64u

/* A context switch. A switch may arrive before the packets of its time; such a switch goes to both files. */
struct record_switch {
	struct ptl_event event;
	uint8_t payload[RECORD_SWITCH_PAYLOAD_MAX];
	bool waits; /* still goes to the previous file if packets of its time do */
};

struct record_switches {
	struct record_switch *ring; /* last RECORD_SWITCHES_MAX switches; NULL before the first */
	size_t first, count;
};

/* Writes a context switch of the CPU whose packets are in stream `packets`. */
int record_capture_switch(struct record_capture *capture, uint32_t stream, uint32_t packets,
			  const struct ptl_event *event);
/* Writes switches up to `until` to the previous file. Later switches would wrongly apply to the last packets there. */
int record_switches_put_before(struct record_capture *capture, const struct record_stream *packets, uint64_t until);
/* Repeats the last context switches of each CPU in the current file. */
int record_switches_repeat(struct record_capture *capture);

#endif
