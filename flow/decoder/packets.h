/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that arrive in pieces, cut into segments, and decoded. */
#ifndef FLOW_DECODER_PACKETS_H
#define FLOW_DECODER_PACKETS_H

#include "flow/native/decoder.h"

/* Initialise with zeroes, then set the members up to `limit`. */
struct decoder_packets {
	struct native_decoder *native;
	const struct flow_sink *sink;
	/* Called before each segment, while no batch needs memory of the engine. */
	void (*between)(void *context);
	/* Called before an open segment continues with another packet than a PSB. */
	void (*resume)(void *context);
	void *context; /* of both functions */
	size_t limit;  /* maximum bytes of a segment */

	uint8_t *bytes; /* bytes that wait */
	size_t size, capacity;
	uint64_t offset;  /* stream offset of `bytes` */
	size_t searched;  /* no PSB begins in the waiting bytes before this place, except the segment's own */
	bool synced;      /* the waiting bytes begin with a PSB */
	bool open;        /* the engine has begun the segment: see native_decoder_read_whole */
	size_t decoded;   /* bytes of the open segment that are decoded */
	size_t failed_at; /* end of the bytes that the gap of an open segment counts; 0: no such gap */
	uint64_t skipped; /* bytes before a PSB that are not reported yet */
	uint64_t zeros;   /* zeros at the beginning of the skipped bytes */
	bool zeros_end;   /* another byte has come after the zeros */
};

/*
 * Adds a piece. last: no piece follows, so all packets are decoded. Returns PTL_NO_MEMORY, or a negative result of the
 * sink.
 */
int decoder_packets_feed(struct decoder_packets *packets, const uint8_t *bytes, size_t size, bool last);
/* Decodes all whole packets, except a PSB+ and what follows as long as that is not known. change: code changes here. */
int decoder_packets_flush(struct decoder_packets *packets, bool change);
/* Ends the packets, and reports a hole of `lost` bytes. */
int decoder_packets_lost(struct decoder_packets *packets, uint64_t lost);
/* Drops waiting packets. The next piece begins at stream offset 0. */
void decoder_packets_reset(struct decoder_packets *packets);
void decoder_packets_close(struct decoder_packets *packets);

#endif
